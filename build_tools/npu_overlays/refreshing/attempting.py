"""Attempting: a module and what is to become of its operations → what gives it so, if anything does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from npu_overlays.changes.reconciliation import reconcile
from npu_overlays.changes.tree_comparison import compare_file, compare_trees
from npu_overlays.errors import MergeError
from npu_overlays.merging.authorship import kept
from npu_overlays.merging.merge import merged_module
from npu_overlays.merging.results import MergedModule
from npu_overlays.overlay.operations import ImportedName, Operation
from npu_overlays.refreshing.below import carried_below
from npu_overlays.refreshing.meaning import same_program
from npu_overlays.refreshing.rebinding import rebound
from npu_overlays.sources.tree import FileEntry, PatchedTree, Source, SourceTree, blob_id


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


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What is tried.

    Args:
        subject: the module.
        changes: what is to become of its operations, with their imports as they are now.
        exchanged: the imports that are others by then, and which.
    """

    subject: Subject
    changes: tuple[Change, ...]
    exchanged: Mapping[ImportedName, ImportedName] = field(default_factory=dict)

    def found(self, known: Set[str]) -> Derived | None:
        """Return what gives the module so, with a patch below where it needs one; None where nothing does.

        Args:
            known: what upstream's module defines, by qualified name.
        """
        subject = self.subject
        before = applied(subject.operations, self.changes)
        operations = [rebound(one, self.exchanged) for one in before]
        alone = merged(subject, operations)
        if (
            alone
            and same_program(alone.content, subject.wanted, known)
            and _is_declared(subject.path, subject.upstream, alone)
        ):
            return Derived(changes=self._changes(), before=None, result=alone.content)
        # Where upstream's own import is another by then, only the patch lets the operations have it.
        carrier = alone or merged(subject, before)
        for below in carried_below(subject.upstream, carrier, subject.wanted) if carrier else ():
            if found := self._on_patch(below, operations, known):
                return found
        return None

    def _on_patch(self, below: bytes, operations: Sequence[Operation], known: Set[str]) -> Derived | None:
        subject = self.subject
        above = merged(subject, operations, below)
        if (
            above is None
            or _are_rivals(subject, self.changes, below)
            or not same_program(above.content, subject.wanted, known)
            or not _is_declared(subject.path, below, above)
        ):
            return None
        return Derived(changes=self._changes(), before=below, result=above.content)

    def _changes(self) -> tuple[Change, ...]:
        """Return the changes with the imports that are others, also of operations that nothing else changes."""
        found = {
            one.symbol: replace(one, wanted=rebound(one.wanted, self.exchanged)) if one.wanted else one
            for one in self.changes
        }
        for one in self.subject.operations:
            if one.symbol not in found and (wanted := rebound(one, self.exchanged)) != one:
                found[one.symbol] = Change(symbol=one.symbol, known=one, wanted=wanted)
        return tuple(found.values())


def applied(operations: Sequence[Operation], changes: Sequence[Change]) -> list[Operation]:
    """Return operations with some exchanged in their places, and the new ones behind them."""
    by_symbol = {one.symbol: one.wanted for one in changes}
    kept = [by_symbol.pop(one.symbol, one) if one.symbol in by_symbol else one for one in operations]
    return [one for one in (*kept, *by_symbol.values()) if one is not None]


def merged(subject: Subject, operations: Sequence[Operation], upstream: bytes | None = None) -> MergedModule | None:
    """Return what operations make of a module, or of one in the place of upstream's; None where they do not fit."""
    before = subject.upstream if upstream is None else upstream
    if not operations:
        return MergedModule(content=before, declared=(), authorship=kept(before))
    try:
        return merged_module(subject.path, before, operations, distribution="")
    except MergeError:
        return None


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
