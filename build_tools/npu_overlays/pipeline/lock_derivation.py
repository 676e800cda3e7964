"""Lock derivation: an overlay and its pinned source → its lock; everything a build does is tried on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from npu_overlays.changes.patch_contracts import patch_contracts
from npu_overlays.changes.patch_series import ineffective
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.contracts.contract_check import warnings
from npu_overlays.contracts.contract_drift import drift_notices, standing_notices
from npu_overlays.contracts.contracts import Contract, contracts
from npu_overlays.contracts.form_targets import form_notices, form_targets
from npu_overlays.contracts.lockfile import ArchiveRecord, Lock, load_lock_of_any_pin
from npu_overlays.contracts.metadata import UpstreamMetadata
from npu_overlays.contracts.overlay_code import readers
from npu_overlays.contracts.read_occurrences import read_occurrences, unmet_depends
from npu_overlays.contracts.reads import Read, kept, recorded
from npu_overlays.contracts.side_effects import with_side_effects
from npu_overlays.contracts.unprintable_paths import unprintable_path_notices
from npu_overlays.errors import ConfigError, MergeError, Problem, listing
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.merge.results import Applied
from npu_overlays.model import Model, model_of
from npu_overlays.model.symbol_lookup import SymbolLookup
from npu_overlays.overlay.content import Content, load_content, models_of, names_dropped
from npu_overlays.overlay.operations import EVERYTHING, NO_FORMS
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.overlay.tables import place_in
from npu_overlays.pipeline.upstream import acquire, check_shape, upstream_metadata
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.pin import Archive
from npu_overlays.sources.tree import SourceTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class DerivedLock:
    """A lock, the overlay it was derived for, and notices for the user."""

    content: Content
    lock: Lock
    notices: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReadUpstream:
    """A pin's upstream, as an earlier step has read it.

    Args:
        tree: its files.
        model: of these.
        metadata: of its distribution, if its build backend gave them.
    """

    tree: SourceTree
    model: Model
    metadata: UpstreamMetadata | None = None


def derive_lock(overlay: Overlay, choice: Choice, read: ReadUpstream | None = None) -> DerivedLock:
    """Return the lock of an overlay, made from its pinned source; raises `OverlayError`.

    If git has the commit, every pinned archive is compared with it: a differing file is an error, missing and extra
    ones are recorded. With only an archive, an earlier lock's facts about the commit are kept, its metadata too: a
    wheel has fewer (an index accepts no requirement by URL).

    Args:
        overlay: the overlay.
        choice: the source of upstream.
        read: its upstream, where an earlier step has read it.
    """
    tree = read.tree if read else _read(overlay, choice)
    before = _before(overlay)
    known = before if before and before.commit == overlay.pin.identity else None
    metadata = (read and read.metadata) or _metadata(tree, known)
    absent = _absent(tree, known)
    model = read.model if read and not absent else model_of(overlay.pin, tree, absent=absent)
    if models := models_of(overlay, metadata.version):
        step("looking for definitions of one form")
    dropped = names_dropped(overlay, metadata.version)
    forms = form_targets(models, tree, model, known.forms if known else NO_FORMS, dropped)
    content = written_out(load_content(overlay, metadata.version, forms), tree)
    releases = _releases(overlay, tree)
    archives = {one.file: _compared(overlay, one, tree, releases, known) for one in overlay.pin.archives}
    step(f"merging {plural(len(content.operations), 'operation')} into {overlay.pin.project} {metadata.version}")
    applied = apply_overlay(content, tree, absent=absent, model=model)
    step("looking up what the operations depend on")
    upstream = applied.before.symbols
    # If this source lacks files of upstream, an earlier lock knows more.
    earlier: dict[tuple[str, ...], Contract] = {one.place: one for one in known.contracts} if known and absent else {}
    found = with_side_effects(
        contracts(content, tree, applied.before.classes), applied.before.classes, applied.after.classes, earlier
    )
    found += patch_contracts(applied.patched)
    MergeError.raise_for([*unmet_depends(content, upstream)])
    lock = Lock(
        commit=overlay.pin.identity,
        metadata=metadata,
        archives=archives,
        contracts=(*found, *_earlier_contracts(content, known, absent)),
        reads=_reads(content, upstream, applied, known),
        forms=forms,
    )
    check_shape(overlay, tree, releases.values())
    carried = drift_notices(content, lock, upstream, before=before)
    # Notices about files that this source lacks are kept.
    notes = sorted({*standing_notices(content, lock, upstream), *(known.told if known and absent else ())})
    notices = [*warnings(found, content.operations), *carried, *ineffective(content.patches, applied.patched)]
    notices += unprintable_path_notices(overlay.pin, tree, overlay=overlay.name)
    notices += (f"{overlay.name}: {one}" for one in form_notices(before.forms if before else NO_FORMS, forms, model))
    return DerivedLock(content=content, lock=replace(lock, told=tuple(notes)), notices=tuple(notices))


def _read(overlay: Overlay, choice: Choice) -> SourceTree:
    step("reading the pinned source")
    return acquire(overlay, choice.mode_for(overlay), choice.clone(overlay.pin.project))


def _before(overlay: Overlay) -> Lock | None:
    """Return the existing lock, for any pin."""
    try:
        return load_lock_of_any_pin(overlay)
    except ConfigError:
        return None


def _absent(tree: SourceTree, known: Lock | None) -> frozenset[str]:
    """Return the commit's files that the archive lacks, by an earlier lock."""
    record = _record(tree, known)
    return frozenset(record.missing if record else ())


def _record(tree: SourceTree, known: Lock | None) -> ArchiveRecord | None:
    """Return the facts that an earlier lock has about an archive; None for git."""
    return known.archives.get(tree.source.archive) if known and tree.source.kind == "archive" else None


def _metadata(tree: SourceTree, known: Lock | None) -> UpstreamMetadata:
    """Return the commit's metadata from upstream's build backend, or from a release if there is no commit."""
    record = _record(tree, known)
    if known and record and record.compared and tree.source.commit:
        return known.metadata
    return upstream_metadata(tree)


def _earlier_contracts(content: Content, known: Lock | None, absent: frozenset[str]) -> tuple[Contract, ...]:
    """Return the earlier contracts of operations, substitutions and patches on files this source lacks."""
    if known is None:
        return ()
    places: set[tuple[str, ...]] = {(one.path, one.symbol, "", one.action) for one in content.operations}
    places |= {(one.path, "", one.edit.find, "edit") for one in content.edits}
    patches = [one.path for one in content.patches]
    found: list[Contract] = []
    for one in known.contracts:
        own = (one.path, one.symbol, one.find, one.operation)
        # Of a deletion that empties a module, the operation names everything.
        emptying = (one.path, EVERYTHING, one.find, one.operation)
        if one.path in absent and (own in places or emptying in places or one.patch in patches):
            found.append(one)
    return tuple(found)


def _reads(content: Content, upstream: SymbolLookup, applied: Applied, known: Lock | None) -> tuple[Read, ...]:
    """Return the overlay's reads; for files that this source lacks, those of an earlier lock."""
    earlier = known.reads if known else ()
    return kept(recorded(read_occurrences(content, upstream, applied)), earlier, readers(content), upstream.absent)


def _releases(overlay: Overlay, tree: SourceTree) -> dict[str, SourceTree]:
    """Return the pinned archives by file name: all where git has the commit, else the one that stands in for it."""
    if tree.source.kind != "git":
        return {tree.source.archive: tree}
    releases = {}
    for archive in overlay.pin.archives:
        step(f"comparing {archive.file} with the commit")
        pin = replace(overlay.pin, archives=(archive,))
        releases[archive.file] = acquisition.acquire(pin, mode="archive", progress=step)
    return releases


def _compared(
    overlay: Overlay, archive: Archive, tree: SourceTree, releases: Mapping[str, SourceTree], known: Lock | None
) -> ArchiveRecord:
    """Return how a pinned archive differs from the commit; raises `MergeError` if a file has other content."""
    if not overlay.pin.commit:
        return ArchiveRecord(compared=True)  # it is what is pinned
    if tree.source.kind != "git":
        earlier = known.archives if known else {}
        return earlier.get(archive.file, ArchiveRecord(compared=False))
    ours, theirs = _shipped_blobs(overlay, tree), _shipped_blobs(overlay, releases[archive.file])
    different = sorted(path for path in ours.keys() & theirs.keys() if ours[path] != theirs[path])
    if different:
        what = f"{archive.file} differs from the commit in {plural(len(different), 'file')}: {listing(different)}"
        where = place_in(overlay.folder / CONFIG_FILE, "tool.overlay.upstream.archive")
        raise MergeError(Problem(where=where, what=what, fix="pin the commit that the archive was made from"))
    return ArchiveRecord(
        compared=True,
        missing=tuple(sorted(ours.keys() - theirs.keys())),
        extra=tuple(sorted(theirs.keys() - ours.keys())),
    )


def _shipped_blobs(overlay: Overlay, tree: SourceTree) -> dict[str, str]:
    return {path: entry.blob for path, entry in tree.entries.items() if overlay.pin.place(path)}
