"""The pipeline: the one module that knows the whole order.

Overlay ─► SourceTree ─► PatchedTree ─► Changes ─► what the wheel holds
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args

from npu_overlays import source
from npu_overlays.apply import Applied, apply_overlay
from npu_overlays.changes import compare_trees
from npu_overlays.content import Content, load_content
from npu_overlays.errors import ConfigError, MergeError, OverlayError, Problem
from npu_overlays.lock import ArchiveRecord, Contract, Lock, check_contracts, contract, load_lock
from npu_overlays.metadata import UpstreamMetadata, upstream_metadata
from npu_overlays.progress import step
from npu_overlays.project import Overlay
from npu_overlays.reconcile import ExplainedFile, reconcile
from npu_overlays.record import installed_path, summary_record
from npu_overlays.stacks import load_stacks
from npu_overlays.symbols import Module
from npu_overlays.tree import PatchedTree, SourceTree

SOURCE_VARIABLE = "NPU_OVERLAYS_SOURCE"


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """Everything a wheel will hold, before it is written.

    Args:
        content: the overlay.
        lock: its lock.
        version: the wheel's version.
        applied: the patched tree.
        files: its changes, explained.
        requires: exact requirements on the paired patched distributions, by the name each replaces.
        record: the content of ``changes.json``.
        notices: harmless things worth knowing.
    """

    content: Content
    lock: Lock
    version: str
    applied: Applied
    files: tuple[ExplainedFile, ...]
    requires: dict[str, str]
    record: dict[str, Any]
    notices: tuple[str, ...]

    @property
    def tree(self) -> PatchedTree:
        """The patched tree."""
        return self.applied.tree

    def shipped(self) -> dict[str, str]:
        """Return every shipped repository path and where it lies in the wheel."""
        pin = self.content.overlay.pin
        places = ((path, installed_path(pin, path)) for path in self.tree.paths())
        return {path: place for path, place in places if place}


def source_mode() -> source.Mode:
    """Return the kind of source asked for by the environment; raises `ConfigError` for an unknown one."""
    mode = os.environ.get(SOURCE_VARIABLE, "auto")
    known: tuple[source.Mode, ...] = get_args(source.Mode)
    for one in known:
        if one == mode:
            return one
    raise ConfigError(
        Problem(where=SOURCE_VARIABLE, what=f"`{mode}` is not a source", fix=f"one of: {', '.join(known)}")
    )


def acquire(overlay: Overlay) -> SourceTree:
    """Return the pinned upstream tree of an overlay, its symbolic links inside the packages refused."""
    tree = source.acquire(
        overlay.pin, mode=source_mode(), local=source.local_override(overlay.pin.project), progress=step
    )
    links = [path for path in tree.links if installed_path(overlay.pin, path)]
    if links:
        what = f"a shipped package holds symbolic links or submodules: {', '.join(sorted(links))}"
        raise MergeError(Problem(where=overlay.name, what=what, fix="a wheel cannot hold them; ship other packages"))
    return tree


@cache
def prepare(overlay: Overlay) -> Prepared:
    """Run every stage up to the point where a wheel can be written; raises `OverlayError`."""
    content = load_content(overlay)
    lock = load_lock(overlay)
    tree = acquire(overlay)
    source.verify(tree, [path for path in tree.entries if installed_path(overlay.pin, path)])
    tree, archive = _within_commit(overlay, lock, tree)
    absent = frozenset(archive.missing if archive else ())
    step(f"merging {len(content.operations)} operations into {overlay.pin.project} {lock.metadata.version}")
    applied, notices = _apply(content, lock, tree, absent)
    files = reconcile(applied.tree, compare_trees(applied.tree), applied.declared, overlay=overlay.name)
    requires = partner_requirements(overlay)
    version = overlay.version(lock.metadata.version)
    record = summary_record(
        content=content,
        version=version,
        upstream_version=lock.metadata.version,
        origin=tree.origin,
        archive=archive,
        files=files,
        not_applied=applied.not_applied,
        requires=requires.values(),
    )
    return Prepared(
        content=content,
        lock=lock,
        version=version,
        applied=applied,
        files=files,
        requires=requires,
        record=record,
        notices=tuple(notices),
    )


def _apply(content: Content, lock: Lock, tree: SourceTree, absent: frozenset[str]) -> tuple[Applied, list[str]]:
    """Apply the overlay and check its contracts, reporting the mistakes of both at once."""
    problems: list[Problem] = []
    notices: list[str] = []
    try:
        locked = [entry for entry in lock.contracts if entry.path not in absent]
        operations = [operation for operation in content.operations if operation.path not in absent]
        notices = check_contracts(locked, contracts(content, tree), operations, overlay=content.overlay.name)
    except MergeError as error:
        problems += error.problems
    try:
        applied = apply_overlay(content, tree, absent=absent)
    except MergeError as error:
        problems += [problem for problem in error.problems if problem not in problems]
    if problems:
        raise MergeError(problems)
    return applied, notices


def contracts(content: Content, tree: SourceTree) -> list[Contract]:
    """Return what each operation depends on in a source tree; operations without their symbol are left out.

    Those are reported when they are applied, with the nearest name.
    """
    modules: dict[str, Module] = {}
    found = []
    for operation in content.operations:
        if operation.path in tree:
            try:
                module = modules.setdefault(operation.path, Module(operation.path, tree.read(operation.path)))
                found.append(contract(module, operation))
            except OverlayError:
                continue
    return found


def _within_commit(overlay: Overlay, lock: Lock, tree: SourceTree) -> tuple[SourceTree, ArchiveRecord | None]:
    """Return the tree less what the archive has and the commit has not, and the archive's record; None for git."""
    if tree.origin.kind == "git":
        return tree, None
    record = lock.archives.get(tree.origin.archive)
    if record is None:
        where = f"{overlay.folder / 'overlay.lock'}: archives"
        what = f"says nothing of {tree.origin.archive}"
        raise ConfigError(Problem(where=where, what=what, fix=f"run `npu-overlays lock {overlay.name}`"))
    extra = set(record.extra)
    entries = {path: entry for path, entry in tree.entries.items() if path not in extra}
    kept = SourceTree(
        root=tree.root,
        entries=entries,
        origin=tree.origin,
        links=tree.links,
        metadata=tree.metadata,
        entry_points=tree.entry_points,
    )
    return kept, record


def partner_requirements(overlay: Overlay) -> dict[str, str]:
    """Return, by upstream name, the exact requirement on each overlay this one is paired with."""
    partners = load_stacks(overlay.root).partners(overlay)
    return {
        partner.pin.project: f"{partner.distribution}=={partner.version(load_lock(partner).metadata.version)}"
        for partner in partners
        if partner.pin.project in _upstream_requirements(load_lock(overlay).metadata)
    }


def _upstream_requirements(metadata: UpstreamMetadata) -> set[str]:
    from packaging.requirements import Requirement  # noqa: PLC0415  # keeps `list` and `show` quick
    from packaging.utils import canonicalize_name  # noqa: PLC0415

    return {canonicalize_name(Requirement(text).name) for text in metadata.requires}


def make_lock(overlay: Overlay) -> Lock:
    """Return the lock of an overlay, made from its pinned source; raises `OverlayError`.

    Where git has the commit, every pinned archive is compared with it: a file
    that differs is an error, missing and extra ones are recorded.
    """
    content = load_content(overlay)
    tree = acquire(overlay)
    source.verify(tree, tree.entries)
    step("asking upstream's build backend for its metadata")
    metadata = upstream_metadata(tree)
    archives = {one.file: _compare_archive(overlay, one.file, tree) for one in overlay.pin.archives}
    lock = Lock(
        commit=overlay.pin.commit, metadata=metadata, archives=archives, contracts=tuple(contracts(content, tree))
    )
    absent = frozenset(archives[tree.origin.archive].missing if tree.origin.kind == "archive" else ())
    _apply(content, lock, tree, absent)
    return lock


def _compare_archive(overlay: Overlay, file: str, tree: SourceTree) -> ArchiveRecord:
    if tree.origin.kind != "git":
        return _kept_record(overlay, file)
    step(f"comparing {file} with the commit")
    archive = source.acquire(overlay.pin, mode="archive", progress=step)
    ours = {path: entry.blob for path, entry in tree.entries.items() if installed_path(overlay.pin, path)}
    theirs = {path: entry.blob for path, entry in archive.entries.items() if installed_path(overlay.pin, path)}
    different = sorted(path for path in ours.keys() & theirs.keys() if ours[path] != theirs[path])
    if different:
        what = f"{len(different)} files of {file} differ from the commit: {', '.join(different[:10])}"
        where = f"{overlay.folder / 'pyproject.toml'}: tool.overlay.upstream.archive"
        raise MergeError(Problem(where=where, what=what, fix="pin the commit the archive was made from"))
    return ArchiveRecord(
        compared=True,
        missing=tuple(sorted(ours.keys() - theirs.keys())),
        extra=tuple(sorted(theirs.keys() - ours.keys())),
    )


def _kept_record(overlay: Overlay, file: str) -> ArchiveRecord:
    """Return what an earlier lock, made where git had the commit, knows of an archive."""
    try:
        return load_lock(overlay).archives.get(file, ArchiveRecord(compared=False))
    except ConfigError:
        return ArchiveRecord(compared=False)
