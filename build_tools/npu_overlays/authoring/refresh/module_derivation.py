"""Module derivation: an upstream module, its operations and the wanted text → the operations that give it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence, Set

from npu_overlays.authoring.refresh.attempt import (
    Attempt,
    DerivedModule,
    EditedModule,
    OperationChange,
    applied,
    merged,
)
from npu_overlays.authoring.refresh.differences import differing, says, text
from npu_overlays.authoring.refresh.equivalence import plain_imports, same_program
from npu_overlays.authoring.refresh.proposals import SymbolStates, new_operation, only
from npu_overlays.authoring.refresh.rebound_imports import exchanged_imports
from npu_overlays.authoring.refresh.renames import new_in, outliving
from npu_overlays.errors import MergeError
from npu_overlays.merging.emptying import does_nothing, each_deletion
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, symbol_of
from npu_overlays.overlay.operations import EVERYTHING, ImportedName, Operation


def derive(subject: EditedModule) -> DerivedModule:
    """Return the operations that give a module, and where they cannot, a patch below them.

    Where a patch cannot stand below an operation, because it would have to change what that puts there, the operation
    is given up: as few as can be, and the rest stay.

    Raises:
        MergeError: the wanted text is no Python, or neither operations nor a patch give it.
    """
    modules = [Module(subject.path, content) for content in (subject.upstream, subject.now, subject.wanted)]
    if found := _emptied(subject, modules[0], modules[2]):
        return found
    exchanged = exchanged_imports(modules[1].tree, modules[2].tree)
    changes = _changes(subject, exchanged, *modules)
    outlived = _outlived(changes, subject.operations, *modules[1:])
    attempts = [
        Attempt(subject=subject, changes=fewer, exchanged=exchanged) for fewer in _fewer(_in_place(changes, outlived))
    ]
    known = modules[0].definitions.keys()
    tried = (one.found(known) for one in attempts if not outlived)
    return next(filter(None, tried), None) or _giving_up(attempts, known, outlived)


def _outlived(
    changes: Sequence[OperationChange], operations: Sequence[Operation], now: Module, wanted: Module
) -> Mapping[str, tuple[Operation, ...]]:
    """Return what would take operations on its members along although they are still wanted, with these operations."""
    whole = [one.symbol for one in changes if any(_inside(one.wanted, operations))]
    new = new_in(now, wanted) if whole else []
    found = {symbol: outliving(symbol, operations, now, new) for symbol in whole}
    return {symbol: listed for symbol, listed in found.items() if listed}


def _in_place(
    changes: Sequence[OperationChange], outlived: Mapping[str, tuple[Operation, ...]]
) -> list[OperationChange]:
    """Return changes of which those are left to a patch that would say apart what is one definition renamed."""
    if not outlived:
        return list(changes)
    apart = [one for one in changes if one.wanted and one.wanted.action == "added" and not one.known]
    return [one for one in changes if one.symbol not in outlived and one not in apart]


def _giving_up(
    attempts: Sequence[Attempt], known: Set[str], outlived: Mapping[str, tuple[Operation, ...]]
) -> DerivedModule:
    """Return what gives a module where operations have to go: a patch in the place of all, less those that can stay."""
    subject = attempts[0].subject
    wanted = {one.symbol for listed in outlived.values() for one in listed}
    gone = {one.symbol: one for one in subject.operations}
    changes = tuple(OperationChange(symbol=symbol, known=one, wanted=None) for symbol, one in gone.items())
    found = DerivedModule(changes=changes, before=subject.wanted, result=subject.wanted)
    for symbol in [one for one in gone if one not in wanted]:
        fewer = {other: one for other, one in gone.items() if other != symbol}
        tried = (_without(attempt, fewer).found(known) for attempt in attempts)
        if better := next(filter(None, tried), None):
            gone, found = fewer, better
    # What the work tree has no more is not given up.
    left = {one.symbol for one in attempts[0].changes if one.wanted is None} - wanted
    return dataclasses.replace(found, given_up=tuple(one for symbol, one in gone.items() if symbol not in left))


def _without(attempt: Attempt, gone: Mapping[str, Operation]) -> Attempt:
    """Return an attempt at the same with some operations taken out."""
    kept = [one for one in attempt.changes if one.symbol not in gone]
    out = [OperationChange(symbol=symbol, known=one, wanted=None) for symbol, one in gone.items()]
    return dataclasses.replace(attempt, changes=(*kept, *out))


def _emptied(subject: EditedModule, upstream: Module, wanted: Module) -> DerivedModule | None:
    """Return what empties a module, where nothing is wanted of it that does anything; else None."""
    if subject.operations or not all(
        does_nothing(one, first=not number) for number, one in enumerate(wanted.tree.body)
    ):
        return None
    everything = new_operation(subject.path, EVERYTHING, "deleted", "attribute")
    try:
        deletions = list(each_deletion(everything, upstream))
    except MergeError:
        return None
    made = merged(subject, deletions) if deletions else None
    if made is None or not same_program(made.content, subject.wanted, upstream.definitions.keys()):
        return None
    change = OperationChange(symbol=EVERYTHING, known=None, wanted=everything)
    return DerivedModule(changes=(change,), before=None, result=made.content)


def _fewer(changes: Sequence[OperationChange]) -> Iterator[tuple[OperationChange, ...]]:
    """Yield changes of which ever more are left to a patch below: additions, whatever is new, all."""
    fewer = [
        tuple(changes),
        tuple(one for one in changes if one.known or not one.wanted or one.wanted.action != "added"),
        tuple(one for one in changes if one.known),
        (),
    ]
    yield from dict.fromkeys(fewer)


def _changes(
    subject: EditedModule, exchanged: Mapping[ImportedName, ImportedName], upstream: Module, now: Module, wanted: Module
) -> list[OperationChange]:
    """Return what becomes of each symbol that differs from what the operations give, with the imports there are now."""
    by_symbol = {_shortest(one, now, upstream): one for one in subject.operations}
    imports = _imports(wanted, exchanged)
    changes: list[OperationChange] = []
    for differs in differing(now, wanted, by_symbol):
        known = by_symbol.get(differs)
        symbol = known.symbol if known else differs
        place = SymbolStates(
            path=subject.path, symbol=symbol, upstream=upstream, wanted=wanted, known=known, imports=imports
        )
        found = _chosen(subject, place, applied(subject.operations, changes))
        if found is not None:
            changes.append(found)
            changes += [
                OperationChange(symbol=one.symbol, known=one, wanted=None)
                for one in _inside(found.wanted, subject.operations)
            ]
    return changes


def _shortest(operation: Operation, *modules: Module) -> str:
    """Return the symbol that the first module which has it calls an operation's by, as `symbols` does."""
    found = ((module, only(module, operation.symbol)) for module in modules)
    return next((symbol_of(module, one) for module, one in found if one), operation.symbol)


def _inside(whole: Operation | None, operations: Sequence[Operation]) -> Iterator[Operation]:
    """Yield the operations on members of what another one says as a whole, or takes out."""
    if whole and whole.action != "edited":
        yield from (one for one in operations if one.symbol.startswith(f"{whole.symbol}."))


def _imports(wanted: Module, exchanged: Mapping[ImportedName, ImportedName]) -> Mapping[str, ImportedName]:
    listed = (ImportedName(name=name, statement=text) for name, text in plain_imports(wanted.tree))
    return {one.name: one for one in listed} | {one.name: one for one in exchanged}


def _chosen(subject: EditedModule, place: SymbolStates, operations: Sequence[Operation]) -> OperationChange | None:
    """Return the first proposal that gives the wanted text, or else one that gives the wanted program."""
    others = [one for one in operations if one.symbol != place.symbol]
    theirs, wanted = only(place.upstream, place.symbol), only(place.wanted, place.symbol)
    gone = not chosen(place.upstream, place.symbol) and not chosen(place.wanted, place.symbol)
    if gone or (theirs and says(theirs) == says(wanted)):
        # Comments alone are no change: a build would say that the operation is without effect.
        return OperationChange(symbol=place.symbol, known=place.known, wanted=None) if place.known else None
    fallback: OperationChange | None = None
    for proposal in place.proposals():
        inside = set(_inside(proposal, others))
        result = merged(subject, [*(one for one in others if one not in inside), proposal])
        if result is None:
            continue
        module = Module(subject.path, result.content)
        made = only(module, place.symbol)
        change = OperationChange(symbol=place.symbol, known=place.known, wanted=proposal)
        if text(module, made) == text(place.wanted, wanted):
            return change
        if fallback is None and says(made) == says(wanted):
            fallback = change
    return fallback
