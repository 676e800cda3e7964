"""Redefinitions: definition of a module → the line on which another takes its place before anything has read it."""

from __future__ import annotations

import ast

from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module


def overwritten(module: Module, definition: Definition) -> int:
    """Return the line that surely defines or deletes a name anew before anything reads it; 0 where none does.

    A decorator may have kept what it decorates.
    """
    if getattr(definition.node, "decorator_list", []):
        return 0
    known = module.definitions[definition.name]
    following = [
        one.node
        for one in known[known.index(definition) + 1 :]
        if one.owner == definition.owner
        and (one.branches == definition.branches or all(branch.runs for branch in one.branches))
    ]
    leaf = definition.leaf
    beside = module.siblings(definition.node)
    deleting = [one for one in beside if isinstance(one, ast.Delete) and leaf in map(ast.unparse, one.targets)]
    later = [one for one in (*following, *deleting) if one.lineno > definition.node.lineno]
    later.sort(key=lambda one: one.lineno)
    return next((one.lineno for one in later if not _is_read(module, definition, leaf, _last_of_head(one))), 0)


def _last_of_head(node: ast.stmt) -> int:
    """Return the last line on which something may read the name before a statement binds it."""
    body: list[ast.stmt] = getattr(node, "body", [])
    return body[0].lineno if body else node.end_lineno or node.lineno


def _is_read(module: Module, definition: Definition, leaf: str, last: int) -> bool:
    """Return whether something may read a definition by its name up to a line."""
    # A class body reads its names where it stands; what reads those of a module may be called from anywhere above.
    scopes = module.scopes.classes.get(definition.parent, []) if definition.parent else module.scopes.all
    own = range(definition.node.lineno, (definition.node.end_lineno or definition.node.lineno) + 1)
    lines = (load.at.lineno for scope in scopes for load in scope.loads if load.name == leaf)
    return any(line <= last and line not in own for line in lines)
