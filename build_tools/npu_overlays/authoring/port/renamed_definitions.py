"""Renamed definitions: a definition under another name → whether only its name changed, and whether both are kept."""

from __future__ import annotations

import ast
import copy

from npu_overlays.model.definitions import Definition
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.syntax import nodes_of


def is_kept_for_others(module: Module, old: str, new: str) -> bool:
    """Return whether a module hands out a definition of a private name to those who ask for the public one.

    What is kept so is not what upstream itself uses in the first place.
    """
    if old.startswith("_") or not new.startswith("_"):
        return False
    for one in chosen(module, "__getattr__"):
        if any(isinstance(node, ast.Constant) and node.value == old for node in nodes_of(one.node)):
            return True
    return False


def is_exchanged(before: Definition, after: Definition, old: str, new: str) -> bool:
    """Return whether a definition has the code of another one but for one name."""
    own, there = (dump(one.node, docstrings=False) for one in (before, after))
    return own != there == dump(_with_name(before.node, old, new), docstrings=False)


def _with_name(node: ast.stmt, old: str, new: str) -> ast.stmt:
    """Return a statement with one name replaced by another, also in attributes and definitions."""
    made = copy.deepcopy(node)
    for one in nodes_of(made):
        for field in ("id", "attr", "name"):
            if getattr(one, field, None) == old:
                setattr(one, field, new)
    return made
