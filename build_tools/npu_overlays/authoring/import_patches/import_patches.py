"""Import: a folder of patches → overlays that give the same trees, and the errors of its hand-written summary."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from npu_overlays.authoring.import_patches.applied_patches import (
    AppliedSeries,
    check_readable,
    check_same,
    given_by_git,
    named_paths,
    take,
)
from npu_overlays.authoring.import_patches.forms import KINDS, FormBuilder, FormKind, ProvenForm
from npu_overlays.authoring.import_patches.ledger import read_ledger
from npu_overlays.authoring.import_patches.ledger_comparison import AppliedPatchSet, LedgerComparison, compare
from npu_overlays.authoring.import_patches.patch_folder import PatchSet, chosen, read_layout
from npu_overlays.authoring.import_patches.pins import PinnedPatchSet, check_for_one_project, pin
from npu_overlays.authoring.init.init import StagedOverlay, staged_overlay
from npu_overlays.authoring.init.request import InitRequest
from npu_overlays.authoring.new_folder import presence
from npu_overlays.authoring.refresh.placement import LayerFile
from npu_overlays.errors import MergeError, OverlayError, Problem, UsageError
from npu_overlays.overlay.project import Overlay
from npu_overlays.pipeline.preparation import joined
from npu_overlays.progress import about, step

T = TypeVar("T")
ItemT = TypeVar("ItemT")
_New = tuple[PatchSet, StagedOverlay]
Explain = Callable[[Sequence[tuple[str, str]]], Mapping[tuple[str, str], str]]


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What to import, and how."""

    folder: Path  # the folder of the patches
    summary: Path | None  # the hand-written summary, or None
    only: tuple[str, ...]  # the sets that are meant; empty for all
    kind: FormKind  # the form in which the patches are kept
    request: InitRequest  # what the new overlays should be
    root: Path  # the folder of overlays
    only_shipped: bool  # whether hunks for files that no wheel has are left out
    # Returns the missing reasons, by action and target.
    explain: Explain
    dry_run: bool


@dataclass(frozen=True, kw_only=True)
class ImportedPatchSet:
    """One set of patches, and the overlay that gives what they give."""

    patches: PatchSet
    new: StagedOverlay
    applied: AppliedSeries  # the patches as they were applied, and the paths that were left out
    forms: FormBuilder
    proven: Mapping[FormKind, ProvenForm | OverlayError]  # both forms, or why one does not work
    files: tuple[LayerFile, ...] = ()  # those of the overlay's files that the patches became

    @property
    def overlay(self) -> Overlay:
        """The overlay, in its place."""
        return self.new.overlay

    @property
    def counts(self) -> dict[str, int]:
        """How many operations of each action, files, edits and patches it is as operations; none if it cannot be."""
        return {} if isinstance(self.proven["operations"], OverlayError) else self.forms.counts()

    def label(self, action: str, target: str) -> tuple[str, str]:
        """Return a change without a reason, with the name of the set before the target."""
        return action, f"{self.patches.name}/{target}"


@dataclass(frozen=True, kw_only=True)
class ImportResult:
    """The overlays, the files that were passed over, and how the summary compares."""

    migrated: tuple[ImportedPatchSet, ...]
    passed_over: tuple[Path, ...]
    comparison: LedgerComparison | None


def migrate(asked: ImportOptions) -> ImportResult:
    """Write an overlay for each set of patches.

    Raises:
        OverlayError: with everything that is wrong with any of them; nothing is written then.
    """
    layout = read_layout(asked.folder)
    found = _Findings([UsageError(layout.problems)] if layout.problems else [])
    sets = found.one(lambda: chosen(layout.sets, asked.only)) or ()
    ledger = found.one(lambda: read_ledger(asked.summary) if asked.summary else None)
    found.one(lambda: check_for_one_project(sets, asked.request))
    # A summary that cannot be read may say which commits are meant.
    known = sets if ledger or not asked.summary else ()
    pinned = found.each(known, lambda one: _read_too(one, lambda: pin(one, ledger, asked.request, asked.root)))
    with ExitStack() as stack:
        parent = Path(stack.enter_context(tempfile.TemporaryDirectory())) if asked.dry_run else asked.request.parent
        news = found.each(
            pinned, lambda one: _read_too(one.patches, lambda: _begun(stack, one, parent, asked.request.parent))
        )
        found.one(lambda: _refuse_twins([new.overlay.folder for _, new in news], asked.request.elsewhere))
        works = found.each(news, lambda new: _tried(new, asked))
        found.check()
        unexplained: list[tuple[str, str]] = []
        for work in works:
            unexplained += [work.label(*one) for one in work.forms.unexplained(asked.kind)]
        reasons = asked.explain(unexplained)
        migrated = found.each(works, lambda work: _written(work, asked.kind, reasons))
        found.check()
    comparison = None
    if ledger:
        done = [AppliedPatchSet(patches=one.patches, changes=one.applied.changes()) for one in works]
        comparison = compare(ledger, done, whole=not asked.only)
    return ImportResult(migrated=tuple(migrated), passed_over=layout.passed_over, comparison=comparison)


@dataclass
class _Findings:
    """Collects errors, so that one does not hide the others."""

    errors: list[OverlayError]

    def each(self, items: Iterable[ItemT], work: Callable[[ItemT], T]) -> list[T]:
        """Return the results of work on each item that it does not fail on."""
        done: list[T] = []
        for item in items:
            try:
                done.append(work(item))
            except OverlayError as error:
                self.errors.append(error)
        return done

    def one(self, work: Callable[[], T]) -> T | None:
        """Return the result of work; None if it fails."""
        return next(iter(self.each([None], lambda _: work())), None)

    def check(self) -> None:
        """Raise `OverlayError` with the problems of all errors."""
        if self.errors:
            raise joined(self.errors)


def _read_too(one: PatchSet, work: Callable[[], T]) -> T:
    """Return the result of work; where it fails, raise the mistakes that show in the patches alone with its error."""
    try:
        return work()
    except OverlayError as error:
        try:
            check_readable(one.patches)
        except MergeError as more:
            raise joined([error, more]) from error
        raise


def _begun(stack: ExitStack, one: PinnedPatchSet, parent: Path, final: Path) -> _New:
    request = replace(one.request, parent=parent, named=named_paths(one.patches.patches))
    with about(one.patches.name):
        new = stack.enter_context(staged_overlay(request, one.layered))
    if parent != final:
        UsageError.raise_for(presence(final / new.overlay.folder.name, one.request.elsewhere))
    return one.patches, replace(new, overlay=replace(new.overlay, folder=final / new.overlay.folder.name))


def _refuse_twins(folders: Sequence[Path], fix: str) -> None:
    """Refuse two sets that are for one commit: each would be the same overlay."""
    twins = [folder for folder in dict.fromkeys(folders) if folders.count(folder) > 1]
    if twins:
        what = "would be the name of the overlays of several folders of patches"
        fix = f"import one at a time, with --only; then {fix}"
        raise UsageError([Problem(where=folder.name, what=what, fix=fix) for folder in twins])


def _tried(new: _New, asked: ImportOptions) -> ImportedPatchSet:
    """Apply patches, and try both forms; raises `OverlayError` if the requested form does not work."""
    patches, staged = new
    with about(patches.name):
        step("applying the patches")
        applied = take(patches.patches, staged.tree, staged.overlay.pin, only_shipped=asked.only_shipped)
        if not applied.taken:
            what = "changes nothing that is shipped"
            raise MergeError(Problem(where=str(patches.folder), what=what, fix="leave it out with --only"))
        step("comparing with what git makes of it")
        check_same(applied.taken[-1].after, given_by_git(applied.taken, staged.tree), str(patches.folder))
        forms = FormBuilder(staged, applied.taken)
        proven = {kind: _proven(forms, kind) for kind in KINDS}
    outcome = proven[asked.kind]
    if isinstance(outcome, OverlayError):
        raise outcome
    return ImportedPatchSet(patches=patches, new=staged, applied=applied, forms=forms, proven=proven)


def _proven(forms: FormBuilder, kind: FormKind) -> ProvenForm | OverlayError:
    step(f"proving that the same is given as {kind}")
    try:
        return forms.prove(forms.files(kind, lambda _action, _target: "Not said yet."))
    except OverlayError as error:
        return error


def _written(one: ImportedPatchSet, kind: FormKind, reasons: Mapping[tuple[str, str], str]) -> ImportedPatchSet:
    files = one.forms.files(kind, lambda action, target: reasons[one.label(action, target)])
    one.forms.write(files)
    return replace(one, files=files)
