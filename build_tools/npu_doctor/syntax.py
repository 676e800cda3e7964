"""Syntax: a file of an installed package, never run → what it imports from another package and what it defines."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain

from npu_doctor import files


@cache
def tree(path: str) -> ast.Module | None:
    """Return a file's syntax; None where it is no Python."""
    content = files.text(path)
    try:
        return None if content is None else ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _body(path: str) -> list[ast.stmt]:
    parsed = tree(path)
    return parsed.body if parsed else []


def imported_modules(path: str, target: str, there: Callable[[str], bool]) -> Iterator[tuple[str, int]]:
    """Yield the modules of a package that a file imports unconditionally; guarded imports do not count.

    Args:
        path: the file.
        target: the package.
        there: whether a module exists. Only a file that names one that does not is parsed: parsing takes most of the
            time, and is needed only to tell code from an example in a string.

    Yields:
        The module and the line.
    """
    content = files.text(path) or ""
    module = rf"({re.escape(target)}(?:\.\w+)*)(?!\w)"
    statement = re.compile(rf"^(?:from\s+{module}\s+import\b|import\s.*\b{module})", re.MULTILINE)
    matches = list(statement.finditer(content))
    named = [(match[1] or match[2], content.count("\n", 0, match.start()) + 1) for match in matches]
    # Several modules in one statement are left to the parser.
    if all(there(module) for module, _ in named) and not any(match[2] and "," in match[0] for match in matches):
        yield from named
        return
    for node in _body(path):
        if isinstance(node, ast.ImportFrom) and not node.level and _below(node.module or "", target):
            yield node.module or "", node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _below(alias.name, target):
                    yield alias.name, node.lineno


def imported_names(path: str, module: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the names a file takes from one module anywhere, with the line; imports under ``try`` are not meant."""
    if not files.mentions(path, module):  # nearly all
        return
    written = re.search(rf"from[\s\\]+{re.escape(module)}[\s\\]+import\b", files.text(path) or "")
    body = _body(path) if written else []
    for node in _unguarded(body):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            yield tuple(alias.name for alias in node.names), node.lineno


def _unguarded(body: list[ast.stmt] | list[ast.match_case]) -> Iterator[ast.AST]:
    """Yield every statement, those in functions and classes too, but none under ``try``."""
    for node in body:
        if hasattr(node, "handlers"):  # of `except*` too, which Python 3.10 has no class for
            continue
        yield node
        for name in ("body", "orelse", "cases"):
            yield from _unguarded(getattr(node, name, []))


def defined_names(path: str) -> frozenset[str] | None:
    """Return the names a module binds at its top level, conditions included; None where that cannot be told."""
    parsed = tree(path)
    if parsed is None:
        return None
    found: set[str] = set()
    for node, _ in statements(parsed.body, conditional=False):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return None
        found |= set(_bound_names(node))
    return None if "__getattr__" in found else frozenset(found)


def statements(body: list[ast.stmt], *, conditional: bool) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield every statement that runs in this scope; what only type checkers read does not."""
    for node in body:
        yield node, conditional
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        only_typing = isinstance(node, ast.If) and dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING"
        certain = conditional or not isinstance(node, ast.With)
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            if part == "body" and only_typing:
                continue
            for inner in getattr(node, part, ()):
                nested = [inner] if isinstance(inner, ast.stmt) else inner.body
                yield from statements(nested, conditional=certain)


def assigned(node: ast.stmt) -> Iterator[str]:
    """Yield the names a statement gives a value to."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For, ast.AsyncFor)):
        targets = [] if isinstance(node, ast.AnnAssign) and node.value is None else [node.target]
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        targets = [item.optional_vars for item in node.items if item.optional_vars]
    for inner in chain.from_iterable(map(ast.walk, targets)):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
    # `:=` binds too, wherever it stands in the statement.
    if not isinstance(node, (ast.If, ast.For, ast.While, ast.Try, ast.With)):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr) and isinstance(inner.target, ast.Name):
                yield inner.target.id


def dotted(node: ast.expr) -> str:
    """Return the dotted name of a decorator or condition, calls stripped; ``?`` for anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def _bound_names(node: ast.stmt) -> Iterable[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return assigned(node)


def _below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def functions(path: str, name: str) -> Iterator[str]:
    """Yield the text of every function of a name in a file, methods too."""
    lines = (files.text(path) or "").split("\n")
    for node in ast.walk(ast.Module(_body(path), [])):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            yield "\n".join(lines[node.lineno - 1 : node.end_lineno])
