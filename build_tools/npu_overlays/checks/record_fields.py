"""Record fields: upstream records whose positional arguments move, because a base was changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.checks.attribution import ProblemReport
from npu_overlays.checks.context import CheckContext
from npu_overlays.errors import listing
from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.record_classes import RecordClasses

_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def report_record_fields(context: CheckContext, report: ProblemReport) -> None:
    """Report fields of a record with which Python cannot make it, or that move arguments, or lengthen a named tuple."""
    graph = context.after.classes
    before = RecordClasses(context.before.classes)
    after = RecordClasses(graph)
    for symbol in context.changed_classes():
        known = dict(_impossible(before, symbol))
        for field, (what, fix) in _impossible(after, symbol):
            if field not in known:
                report.add(context.attribution.changer(symbol, [field]), f"`{field}` of `{symbol.name}` {what}", fix)
        gained = _gained(before, after, symbol)
        if gained and after.is_named_tuple(symbol):
            what = f"`{symbol.name}` is a NamedTuple: with `{gained[0]}`, code that unpacks it fails"
            report.add(context.attribution.changer(symbol, gained), what, "add a property, or a class of your own")
        elif gained and (shifted := _shifted(before, after, symbol)):
            what = f"`{symbol.name}` takes `{shifted[0]}` in another place:"
            what = f"{what} code that gives it by position sets another field"
            fix = "keep upstream's fields in their places, and put new ones behind them"
            report.add(context.attribution.changer(symbol, [*gained, *shifted]), what, fix)
        elif gained and (moved := _moved(graph, before, after, symbol)):
            what = f"the field `{gained[0]}` of `{symbol.name}` moves the positional arguments of {listing(moved)}"
            fix = f"make it one that is given by name: `{gained[0]}: … = field(default=…, kw_only=True)`"
            report.add(context.attribution.changer(symbol, gained), what, fix)


def _impossible(records: RecordClasses, symbol: Symbol) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the fields with which `dataclass` raises while the module is imported, with why, and what to do."""
    if not records.is_dataclass(symbol):
        return
    for one in records.fields(symbol):
        if isinstance(one.value, _MUTABLE):
            what = "has a mutable default that all objects would share"
            yield one.name, (what, "write `field(default_factory=…)`")
    earlier = ""
    for one in records.taken(symbol) or ():
        if one.kind == "|" and one.has_default:
            earlier = one.name
        elif one.kind == "|" and earlier:
            what = f"has no default and stands behind `{earlier}`, which has one"
            yield one.name, (what, "give it a default, or `field(kw_only=True)`")


def _gained(before: RecordClasses, after: RecordClasses, symbol: Symbol) -> list[str]:
    """Return the fields of an upstream class that are not at upstream's position, new ones first."""
    if before.graph.node(symbol) is None:
        return []
    old = [one.name for one in before.fields(symbol) if one.kind == "|"]
    new = [one.name for one in after.fields(symbol) if one.kind == "|"]
    added = [name for name in new if name not in old]
    removed = [name for name in old if name not in new]
    return [*added, *removed, *(name for name in new if name in old and new.index(name) != old.index(name))]


def _shifted(before: RecordClasses, after: RecordClasses, symbol: Symbol) -> list[str]:
    """Return the parameters of a class that are no longer at the position of its callers' arguments."""
    old, new = before.positions(symbol) or [], after.positions(symbol) or []
    return [name for at, name in enumerate(old) if name in new and new.index(name) != at]


def _moved(graph: ClassGraph, before: RecordClasses, after: RecordClasses, base: Symbol) -> list[str]:
    """Return the heirs of a class whose parameters are no longer at the position of their callers' arguments."""
    found: list[str] = []
    for heir in graph.heirs(base):
        old, new = before.positions(heir), after.positions(heir)
        if old is not None and new is not None and new[: len(old)] != old:
            found.append(f"`{heir.name}` ({heir.path})")
    return found
