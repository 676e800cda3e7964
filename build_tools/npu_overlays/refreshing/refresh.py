"""Refresh: a checkout that was edited, and its overlay → the overlay's files that give it, proven before they are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.checkout.folder import Checkout, digest_of, find_checkout, note, note_next
from npu_overlays.checkout.repository import Repository
from npu_overlays.checkout.series import series
from npu_overlays.errors import MergeError, OutputError, Problem
from npu_overlays.interrupts import held
from npu_overlays.merging.apply import apply_overlay, apply_part
from npu_overlays.merging.emptying import written_out
from npu_overlays.overlay.content import load_content
from npu_overlays.overlay.operations import Grounds, Reason
from npu_overlays.overlay.project import Layer
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_overlays.refreshing.edited import Edited, edited_files, nested, passed_over
from npu_overlays.refreshing.files import LayerFile
from npu_overlays.refreshing.places import naming_places
from npu_overlays.refreshing.placing import put_in_place, refuse_installed, staged
from npu_overlays.refreshing.plan import Plan
from npu_overlays.refreshing.planning import Planner
from npu_overlays.refreshing.proving import unlike
from npu_overlays.refreshing.writing import Writer, layer_named
from npu_overlays.sources.tree import PatchedTree
from npu_summary.plurals import plural

EDITED = "refs/npu-overlays/edited"
Explain = Callable[[Sequence[tuple[str, str]]], Mapping[tuple[str, str], str]]


@dataclass(frozen=True, kw_only=True)
class Refreshed:
    """What a refresh did, or would do.

    Args:
        plan: what of the overlay changes.
        files: the files of its layers that do.
        checkout: the work tree.
        passed_over: files there that would be shipped, were they not what upstream's .gitignore names.
        nested: folders there of which files would be, were they not repositories of their own.
    """

    plan: Plan
    files: tuple[LayerFile, ...]
    checkout: Checkout
    passed_over: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a refresh is to be done.

    Args:
        into: name of the layer that takes what is new; empty for the pin's own folder.
        as_patch: whether a patch may take the place of the pin's own operations, where they cannot stay.
        dry_run: whether to write nothing.
    """

    into: str
    as_patch: bool
    dry_run: bool


def refresh(subject: AppliedInput, folder: Path, explain: Explain, manner: Manner) -> Refreshed:
    """Bring what was edited in a checkout back into its overlay.

    Args:
        subject: the overlay and its upstream.
        folder: of the checkout.
        explain: returns the reasons of all that is new, given what is done, and to what.
        manner: how to do it.

    Raises:
        UsageError: there is no such checkout or layer, or a reason is missing.
        MergeError: something cannot be said, or what is said is not right; nothing is written then.
        OutputError: the overlay cannot be written.
    """
    layer = layer_named(subject, manner.into)
    checkout = find_checkout(folder, subject.content)
    with naming_places(subject.content):
        return _refreshed(subject, checkout, layer, explain, manner)


def _refreshed(subject: AppliedInput, checkout: Checkout, layer: Layer, explain: Explain, manner: Manner) -> Refreshed:
    marked = apply_part(subject.content, subject.tree, absent=subject.absent)
    edited = edited_files(checkout, subject.content.overlay, marked)
    step(f"deriving what gives {plural(len(edited), 'file')}")
    plan = Planner(subject, marked, as_patch=manner.as_patch).plan(edited)
    done = Refreshed(
        plan=plan,
        files=(),
        checkout=checkout,
        passed_over=passed_over(checkout, subject.content.overlay),
        nested=nested(checkout, subject.content.overlay),
    )
    if not plan:
        return done
    reasons = explain(list(plan.unexplained()))
    patches = dataclasses.replace(subject.content, operations=(), edits=(), files=())
    patched = apply_part(patches, subject.tree, absent=subject.absent)
    files = Writer(subject, layer, lambda *new: Grounds(reason=Reason(why=reasons.get(new, "")))).write(plan, patched)
    refuse_installed(files)
    step("proving that this gives what was edited")
    digest = _proven(subject, files, edited, marked)
    if not manner.dry_run:
        Repository(checkout.folder).keep(EDITED)
        note_next(checkout.folder, digest)
        put_in_place(files)
    return dataclasses.replace(done, files=files)


def _proven(subject: AppliedInput, files: Sequence[LayerFile], edited: Sequence[Edited], marked: PatchedTree) -> str:
    """Return the changed overlay's digest; raises `MergeError` where it is not right, or gives not what was edited."""
    with staged(subject.content.overlay, files) as overlay:
        content = written_out(load_content(overlay, subject.version), subject.tree)
        applied = apply_overlay(content, subject.tree, absent=subject.absent)
        reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay=overlay.name)
        wrong = unlike(applied.tree, edited, besides=marked)
        digest = digest_of(content)
    if wrong:
        what = "what was derived gives another file than was edited"
        fix = "make a smaller change, or write this one into the overlay by hand; nothing was written"
        raise MergeError([Problem(where=path, what=what, fix=fix) for path in wrong])
    return digest


def bring_up_to_date(checkout: Checkout, subject: AppliedInput) -> Checkout:
    """Make a checkout that of the overlay as it is now.

    Args:
        checkout: the work tree, of which the overlay as it is now gives the files.
        subject: the overlay as it is now.

    Raises:
        OutputError: git cannot do it.
    """
    repository = Repository(checkout.folder)
    try:
        head = repository.commit(subject, checkout.base, series(subject).commits)
        found = dataclasses.replace(checkout, head=head, digest=digest_of(subject.content))
        with held(f"{checkout.folder} is what the overlay gives"):
            repository.go_to(head)
            note(checkout.folder, found)
    except OutputError as error:
        done = "the overlay was refreshed, and the work tree is as you left it: the next refresh goes on from there"
        raise OutputError(dataclasses.replace(one, fix=f"{one.fix}; {done}") for one in error.problems) from error
    return found
