"""Meaning: two texts of one module → whether they are one program, wherever imports and additions stand."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

from npu_overlays.syntax.definitions import stored_names

_IMPORTS = (ast.Import, ast.ImportFrom)
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def same_program(one: bytes, other: bytes, known: Set[str]) -> bool:
    """Return whether two modules are the same program.

    Comments and layout do not count; nor does where a plain import stands among others, or where what upstream does not
    define stands among what it does: an operation adds both where it has to.

    Args:
        one: a module.
        other: another.
        known: what upstream's module defines, by qualified name.
    """
    return one == other or _parts(one, known) == _parts(other, known)


def _parts(content: bytes, known: Set[str]) -> object:
    tree = ast.parse(content)
    imports = sorted({text for node in tree.body if _is_plain(node) for text in import_statements(node)})
    return imports, *_body((node for node in tree.body if not _is_plain(node)), known, "")


def _body(nodes: Iterable[ast.stmt], known: Set[str], parent: str) -> tuple[list[object], list[str]]:
    """Return the statements of a body in order, and apart from them, sorted, what is added to it."""
    listed: list[object] = []
    added: list[str] = []
    for node in nodes:
        names = [f"{parent}{name}" for name in names_of(node)]
        if names and not known & set(names):
            added.append(ast.dump(node))
        elif isinstance(node, ast.ClassDef):
            head = [ast.dump(part) for part in (*node.bases, *node.keywords, *node.decorator_list)]
            inner, more = _body(node.body, known, f"{parent}{node.name}.")
            # A `pass` that holds a place says nothing.
            listed.append((node.name, head, [one for one in inner if one != ast.dump(ast.Pass())], more))
        else:
            listed.append(ast.dump(node))
    return listed, sorted(added)


def names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or an assignment binds."""
    if isinstance(node, _NAMED):
        yield node.name
    else:
        yield from stored_names(node)


def _is_plain(node: ast.stmt) -> bool:
    """Return whether a statement of a module is an import that can stand elsewhere among the imports."""
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return isinstance(node, _IMPORTS) and not future and all(alias.name != "*" for alias in node.names)


def import_statements(node: ast.stmt) -> Iterator[str]:
    """Yield one statement for each name that an import binds, as a merged import is written."""
    for alias in node.names if isinstance(node, _IMPORTS) else ():
        as_name = f" as {alias.asname}" if alias.asname else ""
        if isinstance(node, ast.ImportFrom):
            yield f"from {'.' * node.level}{node.module or ''} import {alias.name}{as_name}"
        else:
            yield f"import {alias.name}{as_name}"


def plain_imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield the name and the statement of each import that stands in a module under no condition."""
    for node in tree.body:
        if _is_plain(node) and isinstance(node, _IMPORTS):
            for alias, statement in zip(node.names, import_statements(node), strict=True):
                plain = isinstance(node, ast.Import) and not alias.asname
                yield alias.name.partition(".")[0] if plain else alias.asname or alias.name, statement
