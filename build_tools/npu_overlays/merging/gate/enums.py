"""Enumerations: members of upstream's that ``auto()`` numbers otherwise, by what came, went or moved before them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merging.gate.blame import Report
from npu_overlays.merging.gate.examined import Examined
from npu_overlays.merging.gate.lineage import Lineage, Place
from npu_overlays.syntax.aliases import full_names

_NUMBERED = frozenset({"enum.Enum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"})
_FLAGS = frozenset({"enum.Flag", "enum.IntFlag"})
_DEPTH = 20


def report_renumbered(examined: Examined, report: Report) -> None:
    """Report members that keep their name and get another number: what was stored or sent then means another one."""
    before, after = Lineage(examined.before), Lineage(examined.after)
    for path in sorted(examined.tree.changed):
        if b"auto(" not in (examined.tree.before(path) or b"") or not path.endswith(".py"):
            continue
        for place in after.classes(path):
            old, new = _numbers(before, place), _numbers(after, place)
            moved = [name for name in old if name in new and new[name] != old[name]]
            if moved:
                what = f"`{place[1]}.{moved[0]}` gets another number from `auto()`, by what stands before it"
                fix = "put new members last, and leave a number where a member goes: give the next one its value"
                report.add(examined.blame.taker(path, f"{place[1]}.{_first_other(before, after, place)}"), what, fix)


def _first_other(before: Lineage, after: Lineage, place: Place) -> str:
    """Return the first member that came or went."""
    old, new = ([name for name, _ in _members(lineage, place)] for lineage in (before, after))
    return next((name for name in [*new, *old] if (name in old) != (name in new)), "")


def _numbers(lineage: Lineage, place: Place) -> dict[str, object]:
    """Return what ``auto()`` gives each member that has it: a number, or what it is made from where that is unknown."""
    module, kinds = lineage.module(place[0]), _kinds(lineage, place)
    if module is None or not kinds & _NUMBERED:
        return {}
    found: dict[str, object] = {}
    last: object = 0
    for name, value in _members(lineage, place):
        if isinstance(value, ast.Call) and "enum.auto" in full_names(module, value.func):
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


def _kinds(lineage: Lineage, place: Place, depth: int = 0) -> frozenset[str]:
    """Return the bases of a class that are not of its tree; none where it, or one of its own, numbers by itself."""
    node, module = lineage.node(place), lineage.module(place[0])
    if node is None or module is None or depth > _DEPTH or f"{place[1]}._generate_next_value_" in module.definitions:
        return frozenset()
    names = {name for base in node.bases for name in full_names(module, base)}
    return frozenset(names).union(*(_kinds(lineage, base, depth + 1) for base in lineage.bases(place)))


def _members(lineage: Lineage, place: Place) -> Iterator[tuple[str, ast.expr]]:
    node = lineage.node(place)
    for one in node.body if node else ():
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            yield one.targets[0].id, one.value
