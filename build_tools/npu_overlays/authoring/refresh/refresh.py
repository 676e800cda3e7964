"""Refresh: an edited checkout and its overlay → the new files of the overlay, proven before they are written."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.checkout.commit_series import series
from npu_overlays.authoring.checkout.folder import Checkout, digest_of, find_checkout, note, note_next
from npu_overlays.authoring.checkout.repository import Repository
from npu_overlays.authoring.refresh.edited_files import EditedFile, edited_files, nested, passed_over
from npu_overlays.authoring.refresh.equivalence import unlike
from npu_overlays.authoring.refresh.layer_writer import LayerWriter, layer_named
from npu_overlays.authoring.refresh.placement import LayerFile, put_in_place, refuse_installed, staged
from npu_overlays.authoring.refresh.plan import RefreshPlan
from npu_overlays.authoring.refresh.planner import Planner
from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.form_targets import found_content
from npu_overlays.errors import MergeError, OutputError, Problem, listing
from npu_overlays.interrupts import held
from npu_overlays.merge.apply import apply_part
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.overlay.content import Content, load_content, models_of
from npu_overlays.overlay.layer_content import SourcedEdit
from npu_overlays.overlay.operations import Grounds, Operation, Reason
from npu_overlays.overlay.patches import line_of, read_patch
from npu_overlays.overlay.project import Layer, Overlay
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_overlays.sources.tree import PatchedTree
from npu_summary.plurals import plural

EDITED = "refs/npu-overlays/edited"
Explain = Callable[[Sequence[tuple[str, str]]], Mapping[tuple[str, str], str]]


@dataclass(frozen=True, kw_only=True)
class RefreshResult:
    """What a refresh is to write."""

    plan: RefreshPlan
    # The changed files of the overlay's layers.
    files: tuple[LayerFile, ...]
    checkout: Checkout
    digest: str = ""  # the overlay's with these files; empty where none changes
    passed_over: tuple[str, ...] = ()  # files there that would be shipped if upstream's .gitignore did not name them
    # Folders there whose files would be shipped if they were not repositories of their own.
    nested: tuple[str, ...] = ()


def refresh(
    subject: AppliedInput, folder: Path, explain: Explain, *, into: str = "", as_patch: bool = False
) -> RefreshResult:
    """Return what brings what was edited in a checkout back into its overlay, proven and not yet written.

    Args:
        subject: the overlay and its upstream.
        folder: of the checkout.
        explain: returns the reasons of everything new, by action and target.
        into: the name of the layer that takes what is new; empty for the pin's own folder.
        as_patch: whether a patch may replace the pin's own operations, where they cannot stay.

    Raises:
        UsageError: there is no such checkout or layer, or a reason is missing.
        MergeError: no change of the overlay gives what was edited.
    """
    layer = layer_named(subject, into)
    checkout = find_checkout(folder, subject.content)
    with naming_places(subject.content):
        return _refreshed(subject, checkout, layer, explain, as_patch=as_patch)


def _refreshed(
    subject: AppliedInput, checkout: Checkout, layer: Layer, explain: Explain, *, as_patch: bool
) -> RefreshResult:
    marked = apply_part(subject.content, subject.tree, absent=subject.absent)
    edited = edited_files(checkout, subject.content.overlay, marked)
    step(f"deriving what gives {plural(len(edited), 'file')}")
    planner = Planner(subject, marked, as_patch=as_patch)
    plan = planner.plan(edited)
    done = RefreshResult(
        plan=plan,
        files=(),
        checkout=checkout,
        passed_over=passed_over(checkout, subject.content.overlay),
        nested=nested(checkout, subject.content.overlay),
    )
    if not plan:
        return done
    reasons = explain(list(plan.unexplained()))
    writer = LayerWriter(subject, layer, lambda *new: Grounds(reason=Reason(why=reasons.get(new, ""))))
    files = writer.write(plan, planner.patched)
    refuse_installed(files)
    step("proving that this gives what was edited")
    return dataclasses.replace(done, files=files, digest=_proven(subject, files, edited, marked))


def write_result(done: RefreshResult) -> None:
    """Write the changed files of an overlay, and keep the work tree as a commit; raises `OutputError`."""
    if done.files:
        Repository(done.checkout.folder).keep(EDITED)
        note_next(done.checkout.folder, done.digest)
        put_in_place(done.files, state="the overlay was refreshed")


def _proven(
    subject: AppliedInput, files: Sequence[LayerFile], edited: Sequence[EditedFile], marked: PatchedTree
) -> str:
    """Return the changed overlay's digest; raises `MergeError` if it is refused, or does not give what was edited."""
    with staged(subject.content.overlay, files) as overlay:
        content = written_out(_content(overlay, subject), subject.tree)
        applied = apply_overlay(content, subject.tree, absent=subject.absent)
        reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay=overlay.name)
        wrong = unlike(applied.tree, edited, besides=marked)
        digest = digest_of(content)
    if wrong:
        what = "the derived operations do not give the file as you edited it"
        fix = "make a smaller change, or write this one into the overlay by hand; nothing was written"
        raise MergeError([Problem(where=path, what=what, fix=fix) for path in wrong])
    return digest


def _content(overlay: Overlay, subject: AppliedInput) -> Content:
    """Return a changed overlay's content, with the targets of operations that name a model as its lock lists them."""
    if subject.forms.keys() >= {one.like for one in models_of(overlay, subject.version)}:
        return load_content(overlay, subject.version, subject.forms)
    return found_content(overlay, subject.version, subject.tree)


def bring_up_to_date(done: RefreshResult, subject: AppliedInput) -> None:
    """Make a checkout that of the overlay as it is now; its files stay where none of the overlay's were refreshed.

    Raises:
        OutputError: git cannot do it.
    """
    checkout = done.checkout
    if not done.files:
        note_next(checkout.folder, digest_of(subject.content))
        return
    repository = Repository(checkout.folder)
    try:
        head = repository.commit(subject, checkout.base, series(subject))
        found = dataclasses.replace(checkout, head=head, digest=digest_of(subject.content))
        with held(f"{checkout.folder} is what the overlay gives"):
            repository.go_to(head)
            note(checkout.folder, found)
    except OutputError as error:
        written = "the overlay was refreshed, and the work tree is as you left it: the next refresh goes on from there"
        raise OutputError(dataclasses.replace(one, fix=f"{one.fix}; {written}") for one in error.problems) from error


@contextmanager
def naming_places(content: Content) -> Iterator[None]:
    """Make problems with files of a work tree name the places of the overlay that change them."""
    try:
        yield
    except MergeError as error:
        raise MergeError([_named(content, one) for one in error.problems]) from error


def _named(content: Content, problem: Problem) -> Problem:
    places = list(dict.fromkeys(_places(content, re.sub(r":\d+$", "", problem.where))))
    if not places or any(place in str(problem) for place in places):
        return problem
    return replace(problem, what=f"{problem.what}; the overlay changes it in {listing(places)}")


def _places(content: Content, path: str) -> Iterator[str]:
    """Yield the files and lines of an overlay that change a file."""
    changes: tuple[Operation | SourcedEdit, ...] = (*content.operations, *content.edits)
    for one in changes:
        if one.path == path:
            yield one.where
    for file in content.files:
        if file.path == path:
            yield file.file
    for patch in content.patches:
        if path in read_patch(patch).paths:
            yield patch.at(line_of(patch.content, path))
