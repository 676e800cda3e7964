"""Aliases: expression of a module → the dotted names it can stand for, by the module's own imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.syntax.definitions import Definition, bound_name
from npu_overlays.syntax.symbols import Module

_DEPTH = 4


def full_names(module: Module, node: ast.expr, *, depth: int = _DEPTH) -> set[str]:
    """Return the dotted names an expression can stand for: of ``t.Protocol[T]``, ``typing.Protocol``.

    A name the module does not define stands for itself; what a class of the module's own is called is not said.
    """
    if isinstance(node, ast.Subscript):
        return full_names(module, node.value, depth=depth)
    if isinstance(node, ast.Attribute):
        return {f"{owner}.{node.attr}" for owner in full_names(module, node.value, depth=depth)}
    if not isinstance(node, ast.Name):
        return set()
    known = module.definitions.get(node.id)
    if known is None:
        return {node.id}
    return {name for definition in known for name in _names_of(module, definition, depth)}


def _names_of(module: Module, definition: Definition, depth: int) -> Iterator[str]:
    node = definition.node
    if isinstance(node, ast.Import):
        for alias in node.names:
            if bound_name(node, alias) == definition.name:
                yield alias.name if alias.asname else definition.name
    elif isinstance(node, ast.ImportFrom):
        source = "." * node.level + (node.module or "")
        yield from (f"{source}.{one.name}" for one in node.names if bound_name(node, one) == definition.name)
    elif isinstance(node, ast.Assign) and depth:
        yield from full_names(module, node.value, depth=depth - 1)
