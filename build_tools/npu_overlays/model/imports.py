"""Imports: import statement → the names that it binds, each with its module and its name there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.model.definitions import FUNCTIONS, bound_name
from npu_overlays.model.symbols import Imported

_NAMED = (*FUNCTIONS, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def all_imported(nodes: Iterable[ast.AST], module: str, *, package: bool) -> Iterator[Imported]:
    """Yield the names that the imports among some nodes bind, in functions too, as `imported` does."""
    for node in nodes:
        yield from imported(node, module, package=package)


def imported(node: ast.AST, module: str, *, package: bool) -> Iterator[Imported]:
    """Yield the names that a statement binds by importing them.

    Args:
        node: the statement; any but an import yields nothing.
        module: the dotted name of its module.
        package: whether that module is a folder's ``__init__``.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            whole = alias.name if alias.asname else alias.name.partition(".")[0]
            yield Imported(bound_name(node, alias), whole, "", alias)
    elif isinstance(node, ast.ImportFrom):
        source = absolute(module, node.level, node.module or "", package=package)
        for alias in node.names:
            yield Imported(bound_name(node, alias), source, alias.name, alias)


def bound_otherwise(nodes: Iterable[ast.AST]) -> set[str]:
    """Return every name that something other than an import binds, in any scope."""
    found: set[str] = set()
    for one in nodes:
        if isinstance(one, ast.Name):
            found |= set() if isinstance(one.ctx, ast.Load) else {one.id}
        elif isinstance(one, ast.arg):
            found.add(one.arg)
        elif isinstance(one, _NAMED):
            found.add(one.name or "")
        elif isinstance(one, ast.MatchMapping):
            found.add(one.rest or "")
    return found


def absolute(module: str, level: int, name: str, *, package: bool) -> str:
    """Return the absolute name of an import inside `module`, given its dots; empty if they lead out of the package."""
    if not level:
        return name
    parts = module.split(".")
    base = parts[: max(len(parts) - level + package, 0)]
    return ".".join([*base, name] if name else base) if base else ""
