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
from npu_overlays.authoring.import_patches.forms import FormBuilder, FormFile, FormKind, ProvenForm, write
from npu_overlays.authoring.import_patches.ledger import read_ledger
from npu_overlays.authoring.import_patches.ledger_comparison import AppliedPatchSet, LedgerComparison, compare
from npu_overlays.authoring.import_patches.patch_folder import PatchSet, chosen, read_layout
from npu_overlays.authoring.import_patches.pins import PinnedPatchSet, check_for_one_project, pin
from npu_overlays.authoring.init.init import StagedOverlay, staged_overlay
from npu_overlays.authoring.init.request import InitRequest, presence
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
    # Returns the reasons of all that has none, by action and target.
    explain: Explain
    dry_run: bool


@dataclass(frozen=True, kw_only=True)
class ImportedPatchSet:
    """One set of patches, and the overlay that gives what they give."""

    patches: PatchSet
    overlay: Overlay
    files: tuple[FormFile, ...]  # those of the overlay's files that the patches became
    proven: Mapping[FormKind, ProvenForm | OverlayError]  # both forms, or why one cannot be had
    counts: Mapping[str, int]  # how many operations of each action, files, edits and patches the form as operations has
    applied: AppliedSeries  # the patches as they were applied, and the paths that were left out


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
            unexplained += [_label(work, *one) for one in work.former.unexplained(asked.kind)]
        reasons = asked.explain(unexplained)
        migrated = found.each(works, lambda work: _written(work, asked.kind, reasons))
        found.check()
    comparison = compare(ledger, [_done(work) for work in works], whole=not asked.only) if ledger else None
    return ImportResult(migrated=tuple(migrated), passed_over=layout.passed_over, comparison=comparison)


@dataclass(frozen=True, kw_only=True)
class _Work:
    """A set of patches that was applied, and both forms of it that were tried."""

    patches: PatchSet
    new: StagedOverlay
    applied: AppliedSeries
    former: FormBuilder
    proven: Mapping[FormKind, ProvenForm | OverlayError]


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
        """Return the result of work; None where it fails."""
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
    if problems := list(presence(final / new.overlay.folder.name, one.request.elsewhere)) if parent != final else []:
        raise UsageError(problems)
    return one.patches, replace(new, overlay=replace(new.overlay, folder=final / new.overlay.folder.name))


def _refuse_twins(folders: Sequence[Path], fix: str) -> None:
    """Refuse two sets that are for one commit: each would be the same overlay."""
    twins = [folder for folder in dict.fromkeys(folders) if folders.count(folder) > 1]
    if twins:
        what = "is what the overlays of several folders of patches would be called"
        fix = f"import one at a time, with --only; then {fix}"
        raise UsageError([Problem(where=folder.name, what=what, fix=fix) for folder in twins])


def _tried(new: _New, asked: ImportOptions) -> _Work:
    """Apply patches, and try both forms; raises `OverlayError` where the form that was asked for cannot be had."""
    patches, begun_ = new
    with about(patches.name):
        step("applying the patches")
        applied = take(patches.patches, begun_.tree, begun_.overlay.pin, only_shipped=asked.only_shipped)
        if not applied.taken:
            what = "changes nothing that is shipped"
            raise MergeError(Problem(where=str(patches.folder), what=what, fix="leave it out with --only"))
        step("comparing with what git makes of it")
        check_same(applied.taken[-1].after, given_by_git(applied.taken, begun_.tree), str(patches.folder))
        former = FormBuilder(begun_, applied.taken)
        kinds: tuple[FormKind, ...] = ("patches", "operations")
        proven = {one: _proven(former, one) for one in kinds}
    outcome = proven[asked.kind]
    if isinstance(outcome, OverlayError):
        raise outcome
    return _Work(patches=patches, new=begun_, applied=applied, former=former, proven=proven)


def _proven(former: FormBuilder, kind: FormKind) -> ProvenForm | OverlayError:
    step(f"proving that the same is given as {kind}")
    try:
        return former.prove(former.files(kind, lambda _action, _target: "Not said yet."))
    except OverlayError as error:
        return error


def _label(work: _Work, action: str, target: str) -> tuple[str, str]:
    """Return a change without a reason, with the name of its set before the target."""
    return action, f"{work.patches.name}/{target}"


def _written(work: _Work, kind: FormKind, reasons: Mapping[tuple[str, str], str]) -> ImportedPatchSet:
    files = work.former.files(kind, lambda action, target: reasons[_label(work, action, target)])
    write(work.new.stage, files, work.new)
    usable = not isinstance(work.proven["operations"], OverlayError)
    return ImportedPatchSet(
        patches=work.patches,
        overlay=work.new.overlay,
        files=files,
        proven=work.proven,
        counts=work.former.counts() if usable else {},
        applied=work.applied,
    )


def _done(work: _Work) -> AppliedPatchSet:
    return AppliedPatchSet(
        patches=work.patches, changes={one.file.path: tuple(one.changes()) for one in work.applied.taken}
    )
