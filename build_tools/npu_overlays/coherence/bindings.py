"""Bindings: module → what its names stand for, and which of its parts count with something not being there."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from npu_overlays.merging.gate.references import guarded_parts
from npu_overlays.merging.gate.shipped import absolute
from npu_overlays.syntax.definitions import bound_name
from npu_overlays.syntax.surface import unevaluated


def unsure_nodes(tree: ast.Module) -> set[ast.AST]:
    """Return every node that counts with what it needs not being there, is for certain versions, or does not run."""
    parts = (part for node in ast.walk(tree) for part in _unsure_parts(node))
    return {inner for part in parts for inner in ast.walk(part)} | unevaluated(tree)


def imported_names(
    nodes: Sequence[ast.AST], unsure: set[ast.AST], module: str, *, package: bool
) -> Mapping[str, tuple[str, str]]:
    """Return by local name the module and the name that an import binds it to; of such as nothing else binds.

    Args:
        nodes: all of the module.
        unsure: those that may not run.
        module: its dotted name.
        package: whether it is a folder's ``__init__``.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    for node in nodes:
        for name, meaning in _bound(node, module, package=package):
            found.setdefault(name, set()).add(("", "") if node in unsure else meaning)
    return {name: min(those) for name, those in found.items() if len(those) == 1}


def texts(tree: ast.Module) -> dict[str, str]:
    """Return the texts that a module's own names stand for, where they are given one once."""
    found: dict[str, list[str]] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for one in node.targets:
                if isinstance(one, ast.Name):
                    found.setdefault(one.id, []).append(node.value.value)
    return {name: those[0] for name, those in found.items() if len(those) == 1}


def _bound(node: ast.AST, module: str, *, package: bool) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the names that a node binds, in whatever scope; what is no import stands for nothing that is known."""
    if isinstance(node, ast.Import):
        for one in node.names:
            yield bound_name(node, one), (one.name if one.asname else one.name.partition(".")[0], "")
    elif isinstance(node, ast.ImportFrom):
        source = absolute(module, node.level, node.module or "", package=package)
        yield from ((bound_name(node, one), (source, one.name)) for one in node.names)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id, ("", "")
    elif isinstance(node, ast.arg):
        yield node.arg, ("", "")
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs)):
        yield node.name or "", ("", "")


def _unsure_parts(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what below a node counts with what it needs not being there, or is for certain versions."""
    yield from guarded_parts(node)
    if isinstance(node, (ast.If, ast.IfExp)) and "version" in ast.unparse(node.test).lower():
        if isinstance(node, ast.If):
            yield from (*node.body, *node.orelse)
        else:
            yield from (node.body, node.orelse)
