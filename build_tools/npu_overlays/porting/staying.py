"""Staying: a module, and what is taken out of it → what of the rest uses that; and what it has that it had not."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of

# Names and lines a message shows.
_SHOWN = 6


def uses_left(module: Module, symbol: str, gone: Collection[str]) -> str:
    """Return the lines that name a symbol outside the definitions that go, itself among them; empty where none does."""
    leaf = leaf_of(symbol)
    going = [(one.first_line, one.node.end_lineno or 0) for name in gone for one in chosen(module, name)]
    named = {node.lineno for node in _naming(module.tree, leaf)}
    lines = sorted(line for line in named if not any(first <= line <= last for first, last in going))
    shown = ", ".join(map(str, lines[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "")
    return (
        f"line{'s' if len(lines) > 1 else ''} {shown} of {module.path} name{'' if len(lines) > 1 else 's'} it"
        if lines
        else ""
    )


def _naming(tree: ast.Module, leaf: str) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Constant)) and leaf == _name_in(node):
            yield node


def _name_in(node: ast.Name | ast.Attribute | ast.Constant) -> object:
    """Return what an expression names; a text may stand in `__all__` or in a call of `getattr`."""
    if isinstance(node, ast.Constant):
        return node.value
    return node.id if isinstance(node, ast.Name) else node.attr


def new_in(before: Module | None, after: Module | None) -> str:
    """Return what a module defines that it did not, imports and the members of new classes aside."""
    if before is None or after is None:
        return ""
    known = after.definitions
    new = [
        name
        for name, (first, *_) in known.items()
        if name not in before.definitions and first.kind != "import" and not _is_inside(name, before, after)
    ]
    shown = ", ".join(f"`{name}`" for name in new[:_SHOWN])
    return f"{shown}{', …' if len(new) > _SHOWN else ''}"


def _is_inside(name: str, before: Module, after: Module) -> bool:
    owner = name.rpartition(".")[0]
    return owner not in before.definitions and any(one.kind == "class" for one in after.definitions.get(owner, ()))
