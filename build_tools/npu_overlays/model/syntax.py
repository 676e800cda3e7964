"""Syntax: a module's bytes → its syntax tree; a node → its parts."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)

# Fields that hold no node in any type of node, or a node without content: contexts, operators.
_PLAIN = frozenset(
    {"arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "op", "ops"}
    | {"type_comment"}
)


def syntax_tree(content: bytes) -> ast.Module:
    """Return the syntax tree of a module in UTF-8, its declared encoding ignored.

    Raises:
        SyntaxError: this Python cannot parse it.
        ValueError: likewise.
        RecursionError: it is nested too deeply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # upstream's invalid escape sequences are upstream's business
        return ast.parse(content.decode())


def line_starts(lines: Iterable[bytes]) -> list[int]:
    """Return the byte at which each line begins, and the one after the last line; lines include their ends."""
    return list(accumulate(map(len, lines), initial=0))


class _InnerFields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each node type that may hold nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if kind is ast.Constant else kind._fields
        return self.setdefault(kind, tuple(name for name in names if name not in _PLAIN))


INNER_FIELDS = _InnerFields()


def nodes_of(tree: ast.AST, is_wanted: Callable[[ast.AST], bool] | None = None) -> list[ast.AST]:
    """Return a node and all below it, without contexts and operators; `ast.walk` takes twice as long.

    Args:
        tree: the node.
        is_wanted: returns whether a node below it is looked at, and what is below that; all are by default.
    """
    found = [tree]
    for node in found:
        found += filter(is_wanted, children(node)) if is_wanted else children(node)
    return found


def statements_of(tree: ast.Module) -> list[ast.AST]:
    """Return the statements of a module in the order of `nodes_of`, handlers and cases included."""
    found: list[ast.AST] = [tree]
    for node in found:
        for name in ("body", "handlers", "orelse", "finalbody", "cases"):
            found += getattr(node, name, ())
    return found


def children(node: ast.AST) -> list[ast.AST]:
    """Return a node's children in order, as `ast.iter_child_nodes` does, without contexts and operators."""
    found: list[ast.AST] = []
    known = node.__dict__
    for name in INNER_FIELDS[type(node)]:
        value = known.get(name)
        if not value:  # as most fields are
            continue
        if isinstance(value, list):
            found += [one for one in value if isinstance(one, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def statement_lists(node: ast.AST) -> Iterator[tuple[str, ast.AST, list[ast.stmt]]]:
    """Yield the lists of statements directly in a node, each with its field and owner (node, handler or case)."""
    for owner in (node, *getattr(node, "handlers", []), *getattr(node, "cases", [])):
        for field in ("body", "orelse", "finalbody"):
            statements = getattr(owner, field, None)
            if isinstance(statements, list) and statements:
                yield field, owner, statements


def all_of(tree: ast.AST, kind: type[Node] | tuple[type[Node], ...]) -> list[Node]:
    """Return a node and those below it that are of one or several types."""
    return [node for node in nodes_of(tree) if isinstance(node, kind)]


def has_bases(node: ast.AST) -> bool:
    """Return whether a definition is a class whose header names a base."""
    return isinstance(node, ast.ClassDef) and bool(node.bases)


def is_name(node: ast.AST | None, name: str) -> bool:
    """Return whether a node is a given name."""
    return isinstance(node, ast.Name) and node.id == name


def called(node: ast.expr) -> ast.expr:
    """Return the callee: `cache` for ``@cache(maxsize=1)``; any other node unchanged."""
    return node.func if isinstance(node, ast.Call) else node


def decorator_names(node: ast.AST) -> set[str]:
    """Return the last name of each decorator of a node: `setter` for ``@value.setter``, `cache` for ``@cache()``."""
    return {last_name(called(one)) for one in getattr(node, "decorator_list", [])}


def call_arguments(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, positional ones first."""
    return [*call.args, *(one.value for one in call.keywords)]


def names_import(node: ast.AST, name: str) -> bool:
    """Return whether a node is an import of a name, or under a name."""
    aliases = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    return any(name in (alias.asname, alias.name) for alias in aliases)


def last_name(node: ast.AST) -> str:
    """Return the last name of ``a.b.c``, or a plain name; empty for any other node."""
    return node.attr if isinstance(node, ast.Attribute) else str(getattr(node, "id", ""))


def text_of(node: ast.AST | None) -> str:
    """Return the value of a string literal; empty for any other node."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def elements(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a literal list, tuple or set; any other expression by itself."""
    return node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else [node]


def targets(node: ast.AST) -> list[ast.expr]:
    """Return the targets of an assignment; nothing for any other node."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, (ast.AnnAssign, ast.AugAssign)) else []
