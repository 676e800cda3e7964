"""Enum numbers: upstream members whose ``auto()`` number changes, because of a change before them."""

from __future__ import annotations

import ast

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph

_NUMBERED = frozenset({"enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"})
_FLAGS = frozenset({"enum.Flag", "enum.IntFlag"})


def report_enum_numbers(context: CheckContext, report: ProblemReport) -> None:
    """Report members that keep their name and get another number: stored or sent numbers would mean another member."""
    before, after = context.before.classes, context.after.classes
    for symbol in context.changed_classes():
        if b"auto(" not in (context.tree.before(symbol.path) or b""):
            continue
        old, new = _numbers(before, symbol), _numbers(after, symbol)
        moved = [name for name in old if name in new and new[name] != old[name]]
        if moved:
            other, cause = _cause(before, after, symbol, moved[0])
            what = f"`{symbol.name}.{moved[0]}` gets another number from `auto()`: {cause}"
            fix = "put new members last, and where a member goes, give the next one its number"
            report.add(context.attribution.taker(symbol.path, f"{symbol.name}.{other}"), what, fix)


def _cause(before: ClassGraph, after: ClassGraph, symbol: Symbol, member: str) -> tuple[str, str]:
    """Return the first member added or removed before one, and that as a clause; if none, the member itself."""
    old = [name for name, _ in _members(before, symbol)]
    new = [name for name, _ in _members(after, symbol)]
    for name in new[: new.index(member)]:
        if name not in old:
            return name, f"`{name}` comes in front of it"
    for name in old[: old.index(member)]:
        if name not in new:
            return name, f"`{name}` in front of it goes"
    return member, "what stands in front of it changes"


def _numbers(graph: ClassGraph, symbol: Symbol) -> dict[str, object]:
    """Return the number of each ``auto()`` member, or, if unknown, what it depends on."""
    kinds = graph.outside(symbol)
    if not kinds & _NUMBERED or any("_generate_next_value_" in graph.members(one) for one in graph.line(symbol)):
        return {}
    found: dict[str, object] = {}
    last: object = 0
    for name, value in _members(graph, symbol):
        if isinstance(value, ast.Call) and "enum.auto" in graph.names(symbol.path, value):
            last = found[name] = _next(last, flags=bool(kinds & _FLAGS))
        elif isinstance(value, ast.Constant) and isinstance(value.value, int):
            last = value.value
        else:
            last = (ast.unparse(value),)
    return found


def _next(last: object, *, flags: bool) -> object:
    if isinstance(last, int):
        return 1 << last.bit_length() if flags else last + 1
    return last, "next"


def _members(graph: ClassGraph, symbol: Symbol) -> list[tuple[str, ast.expr]]:
    node = graph.node(symbol)
    body = node.body if node else []
    found: list[tuple[str, ast.expr]] = []
    for one in body:
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            found.append((one.targets[0].id, one.value))
    return found
