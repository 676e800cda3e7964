"""Locking: an overlay in, the lock made from its pinned source out; everything a build does is tried on the way."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npu_overlays import source
from npu_overlays.changes.patched import patch_contracts
from npu_overlays.errors import ConfigError, MergeError, Problem
from npu_overlays.lock.carried import carried_over
from npu_overlays.lock.contracts import Contract, check_contracts, contracts
from npu_overlays.lock.lockfile import ArchiveRecord, Lock, load_lock
from npu_overlays.lock.metadata import upstream_metadata
from npu_overlays.merging.apply import apply_overlay
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pin import Archive
from npu_overlays.pipeline import acquire, check_shape
from npu_overlays.progress import step
from npu_overlays.tree import SourceTree


@dataclass(frozen=True, kw_only=True)
class Made:
    """A lock just made, and what whoever locks is to look at."""

    lock: Lock
    notices: tuple[str, ...]


def make_lock(overlay: Overlay) -> Made:
    """Return the lock of an overlay, made from its pinned source; raises `OverlayError`.

    Where git has the commit, every pinned archive is compared with it: a file
    that differs is an error, missing and extra ones are recorded. Where only an
    archive is at hand, what an earlier lock knows of the commit is kept.
    """
    content = load_content(overlay)
    tree = acquire(overlay)
    known = _earlier(overlay)
    archives = {one.file: _compared(overlay, one, tree, known) for one in overlay.pin.archives}
    absent = frozenset(archives[tree.origin.archive].missing if tree.origin.kind == "archive" else ())
    applied = apply_overlay(content, tree, absent=absent)
    found = [*contracts(content, tree), *patch_contracts(applied.patched)]
    notices = check_contracts(found, found, content.operations, overlay=overlay.name)
    step("asking upstream's build backend for its metadata")
    lock = Lock(
        commit=overlay.pin.identity,
        metadata=upstream_metadata(tree),
        archives=archives,
        contracts=(*found, *_kept(content, known, absent)),
    )
    check_shape(overlay, tree)
    return Made(lock=lock, notices=(*notices, *carried_over(content, lock, absent=absent)))


def _earlier(overlay: Overlay) -> Lock | None:
    """Return the lock there is for this pin."""
    try:
        return load_lock(overlay)
    except ConfigError:
        return None


def _kept(content: Content, known: Lock | None, absent: frozenset[str]) -> tuple[Contract, ...]:
    """Return the earlier contracts of operations, substitutions and patches on files this source lacks."""
    places: set[tuple[str, str, str]] = {(one.path, one.symbol, one.action) for one in content.operations}
    places |= {(one.path, "", "edit") for one in content.edits}
    patches = {one.path for one in content.patches}
    return tuple(
        one
        for one in (known.contracts if known else ())
        if one.path in absent and ((one.path, one.symbol, one.operation) in places or one.patch in patches)
    )


def _compared(overlay: Overlay, archive: Archive, tree: SourceTree, known: Lock | None) -> ArchiveRecord:
    if not overlay.pin.commit:
        return ArchiveRecord(compared=True)  # it is what is pinned
    if tree.origin.kind != "git":
        return (
            known.archives.get(archive.file, ArchiveRecord(compared=False)) if known else ArchiveRecord(compared=False)
        )
    step(f"comparing {archive.file} with the commit")
    pin = replace(overlay.pin, archives=(archive,))
    unpacked = source.acquire(pin, mode="archive", progress=step)
    ours = {path: entry.blob for path, entry in tree.entries.items() if pin.place(path)}
    theirs = {path: entry.blob for path, entry in unpacked.entries.items() if pin.place(path)}
    different = sorted(path for path in ours.keys() & theirs.keys() if ours[path] != theirs[path])
    if different:
        what = f"{len(different)} files of {archive.file} differ from the commit: {', '.join(different[:10])}"
        where = f"{overlay.folder / CONFIG_FILE}: tool.overlay.upstream.archive"
        raise MergeError(Problem(where=where, what=what, fix="pin the commit the archive was made from"))
    return ArchiveRecord(
        compared=True,
        missing=tuple(sorted(ours.keys() - theirs.keys())),
        extra=tuple(sorted(theirs.keys() - ours.keys())),
    )
