"""Enums: enumeration of upstream's → its members, which ``E(1)`` and ``E["A"]`` look up without naming them."""

from __future__ import annotations

import ast

from npu_overlays.reads.upstream import ResolvedSymbol, Upstream
from npu_overlays.syntax.definitions import stored_names

_KINDS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def looked_up(tree: ast.AST) -> set[ast.AST]:
    """Return what is called or subscripted in a piece of syntax."""
    nodes = list(ast.walk(tree))
    called: set[ast.AST] = {one.func for one in nodes if isinstance(one, ast.Call)}
    return called | {one.value for one in nodes if isinstance(one, ast.Subscript)}


def members(upstream: Upstream, owner: ResolvedSymbol) -> list[ResolvedSymbol]:
    """Return the members of a class; nothing for one that is no enumeration."""
    bases = upstream.model.classes.outside(owner.origin) if owner.classes else set()
    if not any(base.rpartition(".")[2] in _KINDS for base in bases):
        return []
    names = (name for node in owner.classes for one in node.body for name in stored_names(one))
    return [found for name in dict.fromkeys(names) if (found := upstream.member(owner, name))]
