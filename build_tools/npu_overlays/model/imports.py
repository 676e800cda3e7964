"""Imports: import statement → the names that it binds, each with its module and its name there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.model.definitions import bound_name
from npu_overlays.model.symbols import Imported


def all_imported(nodes: Iterable[ast.AST], module: str, *, package: bool) -> Iterator[Imported]:
    """Yield the names that the imports among some nodes bind, in functions too, as `imported` does."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
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


def absolute(module: str, level: int, name: str, *, package: bool) -> str:
    """Return the absolute name of an import inside `module`, given its dots; empty if they lead out of the package."""
    if not level:
        return name
    parts = module.split(".")
    base = parts[: max(len(parts) - level + package, 0)]
    return ".".join([*base, name] if name else base) if base else ""
