"""Remaining uses: a module and definitions to take out → the lines that still use one; and the module's new names."""

from __future__ import annotations

import ast
from collections.abc import Collection

from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of

# The most names and lines in a message.
_SHOWN = 6


def remaining_uses(module: Module, symbol: str, taken_out: Collection[str]) -> str:
    """Return a sentence with the lines that name a symbol outside the definitions to take out; empty if none does."""
    leaf, lines = leaf_of(symbol), set()
    for node in ast.walk(module.tree):
        # A text may be in `__all__`, or in a call of `getattr`.
        if isinstance(node, ast.Constant):
            name = node.value
        elif isinstance(node, (ast.Name, ast.Attribute)):
            name = node.id if isinstance(node, ast.Name) else node.attr
        else:
            continue
        if name == leaf:
            lines.add(node.lineno)
    for name in taken_out:
        for one in chosen(module, name):
            lines.difference_update(range(one.first_line, (one.node.end_lineno or 0) + 1))
    if not lines:
        return ""
    shown = ", ".join(map(str, sorted(lines)[:_SHOWN])) + (", …" if len(lines) > _SHOWN else "")
    return f"lines {shown} of {module.path} name it" if len(lines) > 1 else f"line {shown} of {module.path} names it"


def new_definitions(before: Module | None, after: Module | None) -> str:
    """Return the new names of a module as a list to read; imports and members of new classes do not count."""
    if before is None or after is None:
        return ""
    new: list[str] = []
    for name, (first, *_) in after.definitions.items():
        owner = name.rpartition(".")[0]
        owners = after.definitions.get(owner, ()) if owner not in before.definitions else ()
        is_in_new_class = any(one.kind == "class" for one in owners)
        if name not in before.definitions and first.kind != "import" and not is_in_new_class:
            new.append(f"`{name}`")
    return ", ".join(new[:_SHOWN]) + (", …" if len(new) > _SHOWN else "")
