"""Syntax: a file of an installed package, never run → what it imports from another package and what it defines."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache

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
    for node in _statements(parsed.body):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return None
        found |= set(_bound_names(node))
    return None if "__getattr__" in found else frozenset(found)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for name in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try, ast.With)):
                yield from _statements(getattr(node, name, []))
        for handler in getattr(node, "handlers", []):
            yield from _statements(handler.body)


def _bound_names(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield (alias.asname or alias.name).partition(".")[0]
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets: list[ast.expr] = [*node.targets] if isinstance(node, ast.Assign) else [node.target]
        for name in ast.walk(ast.Tuple(targets)):
            if isinstance(name, ast.Name):
                yield name.id


def _below(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def functions(path: str, name: str) -> Iterator[str]:
    """Yield the text of every function of a name in a file, methods too."""
    lines = (files.text(path) or "").split("\n")
    for node in ast.walk(ast.Module(_body(path), [])):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            yield "\n".join(lines[node.lineno - 1 : node.end_lineno])
