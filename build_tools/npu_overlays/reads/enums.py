"""Enums: enumeration of upstream's → its members, which ``E(1)`` and ``E["A"]`` look up without naming them."""

from __future__ import annotations

import ast

from npu_overlays.reads.upstream import Found, Upstream
from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.definitions import stored_names

_KINDS = frozenset({"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"})


def looked_up(tree: ast.AST) -> set[ast.AST]:
    """Return what is called or subscripted in a piece of syntax."""
    nodes = list(ast.walk(tree))
    called: set[ast.AST] = {one.func for one in nodes if isinstance(one, ast.Call)}
    return called | {one.value for one in nodes if isinstance(one, ast.Subscript)}


def members(upstream: Upstream, owner: Found) -> list[Found]:
    """Return the members of a class; nothing for one that is no enumeration."""
    place = (owner.home, owner.symbol)
    if not owner.classes or not any(_is_enum(upstream, one) for one in upstream.kin.line(place)):
        return []
    names = (name for node in owner.classes for one in node.body for name in stored_names(one))
    return [found for name in dict.fromkeys(names) if (found := upstream.member(owner, name))]


def _is_enum(upstream: Upstream, place: tuple[str, str]) -> bool:
    lineage = upstream.kin.lineage
    node, module = lineage.node(place), lineage.module(place[0])
    names = {name for base in node.bases for name in full_names(module, base)} if node and module else set()
    return any(name.rpartition(".")[2] in _KINDS for name in names)
