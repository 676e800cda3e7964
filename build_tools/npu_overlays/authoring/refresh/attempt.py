"""Attempt: a module and changes of its operations → the module they give, if that is what is wanted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from npu_overlays.authoring.refresh.equivalence import plain_imports, same_program
from npu_overlays.authoring.refresh.replaced_ranges import replaced_ranges
from npu_overlays.authoring.writer.merge_module_text import OperationChange
from npu_overlays.changes.reconciliation import reconcile
from npu_overlays.changes.tree_comparison import compare_file, compare_trees
from npu_overlays.errors import MergeError
from npu_overlays.merge.authorship import Authorship, kept
from npu_overlays.merge.module_merge import merged_module
from npu_overlays.merge.results import MergedModule
from npu_overlays.model.encodings import as_declared, as_utf8
from npu_overlays.model.syntax import line_starts
from npu_overlays.overlay.operations import ImportedName, Operation
from npu_overlays.sources.tree import FileEntry, PatchedTree, Source, SourceTree, blob_id


def removal(operation: Operation) -> OperationChange:
    """Return the change that takes an operation out."""
    return OperationChange(known=operation, wanted=None)


@dataclass(frozen=True, kw_only=True)
class DerivedModule:
    """What gives a wanted module."""

    changes: tuple[OperationChange, ...]
    before: bytes | None  # upstream's file after a patch that must come first; None if no patch is needed
    result: bytes  # the module that operations and patch give, without notices
    # Operations that go although part of them is wanted: the patch contains that, too.
    given_up: tuple[Operation, ...] = ()


@dataclass(frozen=True, kw_only=True)
class EditedModule:
    """A module that was edited."""

    path: str
    # Its bytes before any operation.
    upstream: bytes
    operations: tuple[Operation, ...]
    # What the operations give, and what is wanted, both without notices.
    now: bytes
    wanted: bytes


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """Changes of a module's operations that may give the wanted module."""

    subject: EditedModule
    changes: tuple[OperationChange, ...]  # with the imports that operations have now
    # The imports that the wanted module exchanges, and for which.
    exchanged: Mapping[ImportedName, ImportedName] = field(default_factory=dict)

    def result(self, known: Set[str]) -> DerivedModule | None:
        """Return what gives the wanted module, with a patch below where it needs one; None if nothing does.

        `known` are the qualified names that upstream's module defines.
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
            return DerivedModule(changes=self._rebound_changes(), before=None, result=alone.content)
        # Where the work tree exchanged an import of upstream's own, only the patch lets operations have the new one.
        carrier = alone or merged(subject, before)
        if carrier is None:
            return None
        for below in underlays(subject.upstream, carrier, subject.wanted):
            if found := self._on_patch(below, operations, known):
                return found
        return None

    def _on_patch(self, below: bytes, operations: Sequence[Operation], known: Set[str]) -> DerivedModule | None:
        subject = self.subject
        above = merged(subject, operations, below)
        if (
            above is None
            or self._has_rivals(below)
            or not same_program(above.content, subject.wanted, known)
            or not _is_declared(subject.path, below, above)
        ):
            return None
        return DerivedModule(changes=self._rebound_changes(), before=below, result=above.content)

    def _has_rivals(self, below: bytes) -> bool:
        """Return whether a patch would change members of what a change deletes: a build would call its work lost."""
        deleted = tuple(f"{one.symbol}." for one in self.changes if one.wanted and one.wanted.action == "deleted")
        difference = compare_file(self.subject.path, self.subject.upstream, below)
        return difference is not None and any(one.symbol.startswith(deleted) for one in difference.symbols())

    def _rebound_changes(self) -> tuple[OperationChange, ...]:
        """Return the changes with exchanged imports, and changes to operations that only get other imports."""
        found: dict[str, OperationChange] = {}
        for change in self.changes:
            wanted = rebound(change.wanted, self.exchanged) if change.wanted else None
            found[change.symbol] = replace(change, wanted=wanted)
        for one in self.subject.operations:
            if one.symbol not in found and (wanted := rebound(one, self.exchanged)) != one:
                found[one.symbol] = OperationChange(known=one, wanted=wanted)
        return tuple(found.values())


def applied(operations: Sequence[Operation], changes: Sequence[OperationChange]) -> list[Operation]:
    """Return operations with some exchanged in their places, and the new ones behind them."""
    wanted = {one.symbol: one.wanted for one in changes}
    everything = [wanted.pop(one.symbol, one) for one in operations]
    return list(filter(None, (*everything, *wanted.values())))


def merged(
    subject: EditedModule, operations: Sequence[Operation], upstream: bytes | None = None
) -> MergedModule | None:
    """Return the result of operations on a module, or on another text of upstream's; None if they do not fit."""
    before = subject.upstream if upstream is None else upstream
    if not operations:
        return MergedModule(content=before, declared=(), authorship=kept(before))
    try:
        return merged_module(subject.path, before, operations, distribution="")
    except MergeError:
        return None


def _is_declared(path: str, before: bytes, merged: MergedModule) -> bool:
    """Return whether the operations declare exactly what differs, as a build will demand."""
    entries = {path: FileEntry(blob=blob_id(before))}
    upstream = SourceTree(entries=entries, content={path: before}, source=Source(kind="git", repository="", commit=""))
    tree = PatchedTree(upstream=upstream, changed={path: merged.content})
    try:
        reconcile(tree, compare_trees(tree), merged.declared, overlay="")
    except MergeError:
        return False
    return True


def exchanged_imports(now: ast.Module, wanted: ast.Module) -> Mapping[ImportedName, ImportedName]:
    """Return the imports whose name another import binds in the wanted module, and that other one."""
    before, after = frozenset(plain_imports(now)), frozenset(plain_imports(wanted))
    gone, new = before - after, after - before
    found: dict[ImportedName, ImportedName] = {}
    for one in gone:
        others = [other for other in new if other.name == one.name]
        twins = [other for other in gone if other.name == one.name]
        if len(twins) == len(others) == 1:
            found[one] = others[0]
    return found


def rebound(operation: Operation, exchanged: Mapping[ImportedName, ImportedName]) -> Operation:
    """Return an operation with imports exchanged; itself where it has none of them."""
    imports = tuple(exchanged.get(one, one) for one in operation.imports)
    return operation if imports == operation.imports else replace(operation, imports=imports)


_Nearest: TypeAlias = Callable[[Authorship, int], int | None]


def underlays(upstream: bytes, merged: MergedModule, wanted: bytes) -> Iterator[bytes]:
    """Yield upstream's module with the changes from the merged to the wanted one; nothing if they touch other text.

    Text that is put in between or behind texts of operations goes beside the nearest text of upstream's: once beside
    that above, and once beside that below. Whether it means the same there has to be tried.

    Args:
        upstream: its bytes.
        merged: the result of the operations.
        wanted: what it should become.
    """
    above = _underlay(upstream, merged, wanted, _above)
    if above is not None:
        yield above
    below = _underlay(upstream, merged, wanted, _below)
    if below is not None and below != above:
        yield below


def _underlay(upstream: bytes, merged: MergedModule, wanted: bytes, nearest: _Nearest) -> bytes | None:
    source = as_utf8(upstream)
    old, new = (as_utf8(content).splitlines(keepends=True) for content in (merged.content, wanted))
    starts = line_starts(old)
    parts: list[bytes] = []
    position = 0
    for first, behind, start, end in replaced_ranges(old, new):
        place = _place(merged.authorship, starts[first], starts[behind], nearest)
        if place is None or place[0] < position:
            return None
        parts += [source[position : place[0]], *new[start:end]]
        position = place[1]
    return as_declared(b"".join([*parts, source[position:]]), upstream)


def _place(authorship: Authorship, start: int, end: int, nearest: _Nearest) -> tuple[int, int] | None:
    """Return where bytes of the merged module are in upstream's; for an empty range, where text can be put in."""
    if start == end:
        before = authorship.origin(start - 1) if start else None
        at = authorship.origin(start) if before is None else before + 1
        at = nearest(authorship, start) if at is None else at
        return None if at is None else (at, at)
    first, last = authorship.origin(start), authorship.origin(end - 1)
    if first is None or last is None or last - first != end - 1 - start:
        return None
    inside = all(authorship.origin(offset) is not None for offset in range(start, end))
    return (first, last + 1) if inside else None


def _above(authorship: Authorship, offset: int) -> int | None:
    """Return the place behind the last byte of upstream's in front of an offset, or None."""
    ends: list[int] = []
    for one in authorship.stretches:
        if one.origin is not None and one.end <= offset:
            ends.append(one.origin + one.end - one.start)
    return max(ends, default=None)


def _below(authorship: Authorship, offset: int) -> int | None:
    """Return the place in front of the first byte of upstream's behind an offset, or None."""
    for one in authorship.stretches:
        if one.origin is not None and one.start >= offset:
            return one.origin
    return None
