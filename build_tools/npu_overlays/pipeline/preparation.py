"""Preparation: the one module that knows the whole order of a build.

Overlay ─► SourceTree ─► PatchedTree ─► Changes ─► what the wheel holds
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from npu_overlays.changes.patch_contracts import patch_contracts
from npu_overlays.changes.patch_series import ineffective
from npu_overlays.changes.reconciliation import ExplainedFile, declarations, reconcile
from npu_overlays.changes.record import summary_record
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.contract_check import check_contracts
from npu_overlays.contracts.contracts import contracts
from npu_overlays.contracts.form_targets import found_forms
from npu_overlays.contracts.lock_head import is_unlocked
from npu_overlays.contracts.lockfile import ArchiveRecord, Lock, load_lock
from npu_overlays.contracts.own_metadata import own_metadata_notices
from npu_overlays.contracts.read_occurrences import unmet_depends
from npu_overlays.contracts.unprintable_paths import unprintable_path_notices
from npu_overlays.errors import ConfigError, MergeError, OverlayError, Problem
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.merge.results import Applied
from npu_overlays.model import model_of
from npu_overlays.overlay.compiled import wheel_tag
from npu_overlays.overlay.content import Content, load_content, needs_version
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.operations import FormTargets
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.build_version import wheel_version
from npu_overlays.pipeline.licences import licence_files
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.pipeline.upstream import acquire, check_shape, released_version
from npu_overlays.progress import about, step
from npu_overlays.sources.tree import PatchedTree, SourceTree
from npu_summary.changes import Changes
from npu_summary.plurals import plural

T = TypeVar("T")
NamedT = TypeVar("NamedT", Overlay, Loaded)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything a wheel will hold, before it is written."""

    loaded: Loaded  # the overlay, its lock and its partners
    content: Content  # everything the overlay says
    version: str  # the wheel's version
    applied: Applied  # the patched tree
    files: tuple[ExplainedFile, ...]  # its changes, explained
    licences: dict[str, bytes]  # its licence files
    tag: tuple[str, bool]  # what the wheel is for, and whether it belongs among pure Python
    record: Changes  # the content of ``changes.json``
    notices: tuple[str, ...]  # harmless things worth knowing

    @property
    def tree(self) -> PatchedTree:
        """The patched tree."""
        return self.applied.tree

    @cached_property
    def shipped(self) -> Mapping[str, str]:
        """Every shipped repository path, and where it lies in the wheel."""
        found: dict[str, str] = {}
        for path in self.tree.paths():
            if place := self.content.overlay.pin.place(path):
                found[path] = place
        return found


def each(overlays: Iterable[NamedT], work: Callable[[NamedT], T]) -> tuple[list[T], list[OverlayError]]:
    """Return the result of work on each overlay, or its error."""
    done: list[T] = []
    errors: list[OverlayError] = []
    for overlay in overlays:
        try:
            with about(overlay.name):
                done.append(work(overlay))
        except OverlayError as error:
            errors.append(error)
    return done, errors


def joined(errors: Sequence[OverlayError]) -> OverlayError:
    """Return one error of the first one's family that lists the problems of all, each once."""
    problems: dict[Problem, None] = {}
    for error in errors:
        problems |= dict.fromkeys(error.problems)
    return type(errors[0])(problems)


@dataclass(frozen=True, kw_only=True)
class AppliedInput:
    """An overlay and the upstream it is applied to."""

    content: Content  # everything the overlay says
    tree: SourceTree  # the pinned upstream files
    absent: frozenset[str]  # paths the commit holds and this source is known to lack
    version: str = ""  # upstream's; empty where it is not known and makes no difference
    forms: FormTargets = field(default_factory=dict)  # the targets of operations that name a model


def subject(overlay: Overlay, choice: Choice) -> AppliedInput:
    """Return an overlay, locked or not, and its upstream, without checking contracts. Raises `OverlayError`."""
    step("reading the pinned source")
    tree = acquire(overlay, choice.mode_for(overlay), choice.clone(overlay.pin.project))
    lock = load_lock(overlay) if (overlay.folder / LOCK_FILE).is_file() else None
    tree, archive = _within_commit(overlay, lock, tree) if lock else (tree, None)
    version = lock.metadata.version if lock else ""
    if not lock and needs_version(overlay):
        version = released_version(tree)
    forms = lock.forms if lock else found_forms(overlay, version, tree)
    content = written_out(load_content(overlay, version, forms), tree)
    absent = frozenset(archive.missing if archive else ())
    return AppliedInput(content=content, tree=tree, absent=absent, version=version, forms=forms)


def preview(overlay: Overlay, choice: Choice) -> PatchedTree:
    """Apply an overlay without checking contracts, as before its first lock; raises `OverlayError`."""
    found = subject(overlay, choice)
    return apply_overlay(found.content, found.tree, absent=found.absent).tree


def load(overlay: Overlay, loader: Loader) -> Loaded:
    """Return a loaded overlay.

    Raises:
        OverlayError: as the loader does; if a lock is missing, the mistakes that prevent one come first.
    """
    try:
        return loader.load(overlay)
    except ConfigError as error:
        raise with_causes(error, overlay, loader) from error


def with_causes(error: ConfigError, overlay: Overlay, loader: Loader) -> ConfigError:
    """Return why an overlay could not be loaded; the mistakes that prevent a missing lock come first."""
    unlocked = [one for one in (overlay, *loader.partners(overlay)) if is_unlocked(one)]
    causes = [problem for one in unlocked for problem in _obstacles(one, loader.choice)]
    return ConfigError((*causes, *error.problems))


def _obstacles(overlay: Overlay, choice: Choice) -> Iterable[Problem]:
    """Return the mistakes that prevent a lock of an overlay."""
    try:
        found = subject(overlay, choice)
        applied = apply_overlay(found.content, found.tree, absent=found.absent)
    except OverlayError as error:
        return error.problems
    return unmet_depends(found.content, applied.before.symbols)


def prepare(loaded: Loaded) -> Prepared:
    """Run every stage up to the point where a wheel can be written; raises `OverlayError`."""
    overlay, lock = loaded.overlay, loaded.lock
    content = load_content(overlay, lock.metadata.version, lock.forms)
    tree = acquire(overlay, loaded.mode, loaded.clone)
    tree, archive = _within_commit(overlay, lock, tree)
    absent = frozenset(archive.missing if archive else ())
    content = written_out(content, tree)
    step(f"merging {plural(len(content.operations), 'operation')} into {overlay.pin.project} {lock.metadata.version}")
    applied, notices = apply_checked(content, lock, tree, absent)
    check_shape(overlay, tree)
    step("comparing the source before and after")
    files = reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay=overlay.name)
    version = wheel_version(loaded, tree.source, content.digest)
    record = summary_record(
        content=content,
        version=version,
        upstream_version=lock.metadata.version,
        source=tree.source,
        archive=archive,
        files=files,
        not_applied=applied.not_applied,
        pairs=loaded.pairs,
        effects={(entry.path, entry.symbol): entry.affects for entry in lock.contracts if entry.affects},
    )
    return Prepared(
        loaded=loaded,
        content=content,
        version=version,
        applied=applied,
        files=files,
        licences=licence_files(overlay, tree),
        tag=wheel_tag(tree),
        record=record,
        notices=(
            *notices,
            *ineffective(content.patches, applied.patched),
            *unprintable_path_notices(overlay.pin, tree, overlay=overlay.name),
            *own_metadata_notices(overlay, applied.after),
        ),
    )


def apply_checked(content: Content, lock: Lock, tree: SourceTree, absent: frozenset[str]) -> tuple[Applied, list[str]]:
    """Apply the overlay, and check its contracts if all of it fits; else no lock could be written."""
    upstream = model_of(content.overlay.pin, tree, absent=absent)
    problems = [*unmet_depends(content, upstream.symbols)]
    try:
        applied = apply_overlay(content, tree, absent=absent, model=upstream)
    except MergeError as error:
        raise MergeError(dict.fromkeys([*error.problems, *problems])) from error
    actual = [*contracts(content, tree, upstream.classes), *patch_contracts(applied.patched)]
    locked = [one for one in lock.contracts if one.path not in absent]
    try:
        notices = check_contracts(
            locked, actual, content.operations, overlay=content.overlay.name, argument=content.overlay.argument
        )
    except MergeError as error:
        raise MergeError(dict.fromkeys([*error.problems, *problems])) from error
    MergeError.raise_for(problems)
    return applied, notices


def _within_commit(overlay: Overlay, lock: Lock, tree: SourceTree) -> tuple[SourceTree, ArchiveRecord | None]:
    """Return the tree without files that only the archive has, and the archive's record; None for git."""
    if tree.source.kind == "git":
        return tree, None
    record = lock.archives.get(tree.source.archive)
    if record is None:
        where = f"{overlay.folder / 'overlay.lock'}: archives"
        what = f"has no entry for {tree.source.archive}"
        raise ConfigError(Problem(where=where, what=what, fix=f"run `npu-overlays lock {overlay.argument}`"))
    extra = set(record.extra)
    entries = {path: entry for path, entry in tree.entries.items() if path not in extra}
    return replace(tree, entries=entries), record
