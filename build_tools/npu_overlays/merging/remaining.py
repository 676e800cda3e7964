"""Remaining: upstream's text, less what operations take out → what a merge would make it read otherwise."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.errors import Problem
from npu_overlays.merging.imports import RENAME
from npu_overlays.merging.results import Change
from npu_overlays.merging.sites import problem
from npu_overlays.overlay.operations import ImportedName, Operation
from npu_overlays.syntax.symbols import Module

_RENAME_ADDED = "add it under another name"
# Lines a message names.
_LISTED = 5


def seen_by_upstream(
    module: Module, imports: Iterable[ImportedName], operations: Sequence[Operation], changes: Sequence[Change]
) -> Iterator[Problem]:
    """Yield a problem for every name a merge would bind that upstream's remaining code reads without binding it.

    Such a name is a builtin's, or comes by a star import, or is in ``__all__`` for another reason.
    """
    gone = sorted((one.start, one.end) for change in changes for one in change.splices if one.end > one.start)
    users = {imported: operation for operation in reversed(operations) for imported in operation.imports}
    for imported in imports:
        lines = _remaining(module, imported.name, gone)
        if lines and not module.scopes.bound(imported.name):
            what = f"`{imported.statement}` would change what upstream's own code reads as `{imported.name}` ({lines})"
            yield problem(users[imported], what, RENAME)
    for operation in (one for one in operations if one.action == "added"):
        lines = _remaining(module, operation.symbol, gone)
        if lines:
            what = f"the added `{operation.symbol}` would change what upstream's own code reads by that name ({lines})"
            yield problem(operation, what, _RENAME_ADDED)


def _remaining(module: Module, symbol: str, gone: Sequence[tuple[int, int]]) -> str:
    """Return the lines on which upstream's text, less what is taken out, reads a name of the module or of a class."""
    parent, _, leaf = symbol.rpartition(".")
    scopes = module.scopes.classes.get(parent, [])
    # What is added to a class stands at its end; its annotations may be evaluated later, with the class's names.
    loads = [one for scope in scopes for one in scope.loads if one.name == leaf and one.annotation]
    lines = {
        one.at.lineno
        for one in (loads if parent else module.scopes.global_loads.get(leaf, []))
        if not _within(module.span(one.at)[0], gone)
    }
    listed = ", ".join(map(str, sorted(lines)[:_LISTED])) + (", …" if len(lines) > _LISTED else "")
    return f"line{'s' if len(lines) > 1 else ''} {listed}" if lines else ""


def _within(offset: int, spans: Sequence[tuple[int, int]]) -> bool:
    number = bisect_right(spans, (offset, float("inf"))) - 1
    return number >= 0 and spans[number][0] <= offset < spans[number][1]
