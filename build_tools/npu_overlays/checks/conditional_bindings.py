"""Conditional bindings: module → names it reads that it binds for type checkers only, or only declares ``global``."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from npu_overlays.model.exports import unevaluated
from npu_overlays.model.nodes import nodes_of
from npu_overlays.model.parsed_modules import ParsedModules
from npu_overlays.model.scopes import Load, Scopes

_WORTH_A_LOOK = re.compile(rb"TYPE_CHECKING|^[ \t]*global\s|[;:][ \t]*global\s", re.MULTILINE)

HalfKind: TypeAlias = Literal["typing", "global"]


def half_bound(content: bytes, parsed: ParsedModules) -> dict[tuple[HalfKind, str], list[tuple[int, int]]]:
    """Return the bytes and lines on which a module reads names that it only seems to bind, by why and by name."""
    tree = parsed.tree(content) if _WORTH_A_LOOK.search(content) else None
    if tree is None:
        return {}
    scopes, typing = parsed.scopes(content), parsed.surface(content).typing_only
    names: list[tuple[HalfKind, str]] = [("typing", name) for name in sorted(typing)]
    names += [("global", name) for name in sorted(_global_only(tree, scopes) - typing)]
    return {
        (kind, name): [
            (parsed.offset(content, load.at), load.at.lineno) for load in _loads_that_run(tree, scopes, name)
        ]
        for kind, name in names
    }


def _global_only(tree: ast.Module, scopes: Scopes) -> set[str]:
    """Return the names declared ``global`` of which every binding is a declaration or needs an earlier one."""
    declared = {name for node in nodes_of(tree) if isinstance(node, ast.Global) for name in node.names}
    extended = {node.target for node in nodes_of(tree) if isinstance(node, ast.AugAssign)} if declared else set()
    bound = {
        name
        for name in declared
        for binding in scopes.module.bindings.get(name, [])
        if binding.how != "del" and binding.node not in extended
    }
    return declared - bound - set(dir(builtins)) if not scopes.stars else set()


def _loads_that_run(tree: ast.Module, scopes: Scopes, name: str) -> Iterator[Load]:
    """Yield the places that read a name of the module when they run: nothing that only type checkers evaluate."""
    never = unevaluated(tree)
    for load in scopes.global_loads.get(name, []):
        if not isinstance(load.at, ast.Constant) and load.at not in never:
            yield load
