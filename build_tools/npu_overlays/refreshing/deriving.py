"""Deriving: one module of upstream, its operations and the text that is wanted → the operations that give it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

from npu_overlays.changes.compare import compare_file, compare_trees
from npu_overlays.changes.reconcile import reconcile
from npu_overlays.errors import MergeError
from npu_overlays.merging.authorship import kept
from npu_overlays.merging.emptying import does_nothing, each_deletion
from npu_overlays.merging.merge import merged_module
from npu_overlays.merging.results import MergedModule
from npu_overlays.overlay.operations import EVERYTHING, ImportedName, Operation
from npu_overlays.refreshing.below import carried_below
from npu_overlays.refreshing.differing import differing, says, text
from npu_overlays.refreshing.meaning import plain_imports, same_program
from npu_overlays.refreshing.proposing import Place, new_operation, only
from npu_overlays.syntax.symbols import Module
from npu_overlays.tree import FileEntry, PatchedTree, Source, SourceTree, blob_id


@dataclass(frozen=True, kw_only=True)
class Change:
    """What becomes of one symbol: the operation there was, and the one there is to be; None for none."""

    symbol: str
    known: Operation | None
    wanted: Operation | None

    @property
    def target(self) -> str:
        """The symbol with its file, ``path:Symbol``."""
        one = self.wanted or self.known
        return f"{one.path}:{self.symbol}" if one else self.symbol


@dataclass(frozen=True, kw_only=True)
class Derived:
    """What gives a module.

    Args:
        changes: what becomes of its operations.
        before: what a patch has to make of upstream's file first; None where it needs none.
        result: the module they give, without notices.
        given_up: operations that go although something of them is wanted: the patch says that, too.
    """

    changes: tuple[Change, ...]
    before: bytes | None
    result: bytes
    given_up: tuple[Operation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One module.

    Args:
        path: its repository path.
        upstream: its bytes before any operation.
        operations: those on it.
        now: what they give, without notices.
        wanted: what is wanted, likewise.
    """

    path: str
    upstream: bytes
    operations: tuple[Operation, ...]
    now: bytes
    wanted: bytes


def derive(subject: Subject) -> Derived:
    """Return the operations that give a module, and where they cannot, a patch below them.

    Raises:
        MergeError: the wanted text is no Python, or neither operations nor a patch give it.
    """
    modules = [Module(subject.path, content) for content in (subject.upstream, subject.now, subject.wanted)]
    known = modules[0].definitions.keys()
    if found := _emptied(subject, modules[0], modules[2]):
        return found
    for changes in _fewer(_changes(subject, *modules)):
        if found := _given(subject, changes, known):
            return found
    # Something that only a patch says touches what an operation puts there.
    gone = [Change(symbol=one.symbol, known=one, wanted=None) for one in subject.operations]
    for one in gone:
        if found := _given(subject, (one,), known):
            return dataclasses.replace(found, given_up=tuple(filter(None, [one.known])))
    return Derived(
        changes=tuple(gone), before=subject.wanted, result=subject.wanted, given_up=tuple(subject.operations)
    )


def _emptied(subject: Subject, upstream: Module, wanted: Module) -> Derived | None:
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
    merged = _merged(subject, deletions) if deletions else None
    if merged is None or not same_program(merged.content, subject.wanted, upstream.definitions.keys()):
        return None
    change = Change(symbol=EVERYTHING, known=None, wanted=everything)
    return Derived(changes=(change,), before=None, result=merged.content)


def _fewer(changes: Sequence[Change]) -> Iterator[tuple[Change, ...]]:
    """Yield changes of which ever more are left to a patch below: additions, whatever is new, all."""
    chosen = [
        tuple(changes),
        tuple(one for one in changes if one.known or not one.wanted or one.wanted.action != "added"),
        tuple(one for one in changes if one.known),
        (),
    ]
    yield from dict.fromkeys(chosen)


def _given(subject: Subject, changes: tuple[Change, ...], known: Set[str]) -> Derived | None:
    """Return what gives a module with these changes, and a patch below where it needs one; None where none does."""
    operations = _applied(subject.operations, changes)
    merged = _merged(subject, operations)
    if merged is None:
        return None
    if same_program(merged.content, subject.wanted, known) and _is_declared(subject.path, subject.upstream, merged):
        return Derived(changes=changes, before=None, result=merged.content)
    below = carried_below(subject.upstream, merged.content, merged.authorship, subject.wanted)
    above = _merged(subject, operations, below) if below is not None else None
    if (
        above is None
        or below is None
        or _are_rivals(subject, changes, below)
        or not same_program(above.content, subject.wanted, known)
        or not _is_declared(subject.path, below, above)
    ):
        return None
    return Derived(changes=changes, before=below, result=above.content)


def _is_declared(path: str, before: bytes, merged: MergedModule) -> bool:
    """Return whether what differs is what the operations say, as a build will demand: no more, and no less."""
    entries = {path: FileEntry(blob=blob_id(before))}
    upstream = SourceTree(entries=entries, content={path: before}, source=Source(kind="git", repository="", commit=""))
    tree = PatchedTree(upstream=upstream, changed={path: merged.content})
    try:
        reconcile(tree, compare_trees(tree), merged.declared, overlay="")
    except MergeError:
        return False
    return True


def _are_rivals(subject: Subject, changes: Sequence[Change], below: bytes) -> bool:
    """Return whether a patch would change members of what a change deletes: what it does would be said to be lost."""
    deleted = tuple(f"{one.symbol}." for one in changes if one.wanted and one.wanted.action == "deleted")
    difference = compare_file(subject.path, subject.upstream, below)
    return difference is not None and any(one.symbol.startswith(deleted) for one in difference.symbols())


def _merged(subject: Subject, operations: Sequence[Operation], upstream: bytes | None = None) -> MergedModule | None:
    before = subject.upstream if upstream is None else upstream
    if not operations:
        return MergedModule(content=before, declared=(), authorship=kept(before))
    try:
        return merged_module(subject.path, before, operations, distribution="")
    except MergeError:
        return None


def _changes(subject: Subject, upstream: Module, now: Module, wanted: Module) -> list[Change]:
    """Return what becomes of each symbol that differs from what the operations give."""
    by_symbol = {one.symbol: one for one in subject.operations}
    imports = _imports(wanted)
    changes: list[Change] = []
    for symbol in differing(now, wanted, by_symbol):
        known = by_symbol.get(symbol)
        place = Place(path=subject.path, symbol=symbol, upstream=upstream, wanted=wanted, known=known, imports=imports)
        found = _chosen(subject, place, _applied(subject.operations, changes))
        if found is not None:
            changes.append(found)
    return changes


def _imports(wanted: Module) -> Mapping[str, ImportedName]:
    return {name: ImportedName(name=name, statement=text) for name, text in plain_imports(wanted.tree)}


def _applied(operations: Sequence[Operation], changes: Sequence[Change]) -> list[Operation]:
    """Return operations with some exchanged in their places, and the new ones behind them."""
    by_symbol = {one.symbol: one.wanted for one in changes}
    kept = [by_symbol.pop(one.symbol, one) if one.symbol in by_symbol else one for one in operations]
    return [one for one in (*kept, *by_symbol.values()) if one is not None]


def _chosen(subject: Subject, place: Place, operations: Sequence[Operation]) -> Change | None:
    """Return the first proposal that gives the wanted text, or else one that gives the wanted program."""
    others = [one for one in operations if one.symbol != place.symbol]
    theirs, wanted = only(place.upstream, place.symbol), only(place.wanted, place.symbol)
    if theirs and says(theirs) == says(wanted):
        # Comments alone are no change: a build would say that the operation is without effect.
        return Change(symbol=place.symbol, known=place.known, wanted=None) if place.known else None
    fallback: Change | None = None
    for proposal in place.proposals():
        result = _merged(subject, [*others, proposal])
        if result is None:
            continue
        module = Module(subject.path, result.content)
        made = only(module, place.symbol)
        change = Change(symbol=place.symbol, known=place.known, wanted=proposal)
        if text(module, made) == text(place.wanted, wanted):
            return change
        if fallback is None and says(made) == says(wanted):
            fallback = change
    return fallback
