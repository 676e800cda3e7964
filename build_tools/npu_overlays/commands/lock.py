"""`lock`: overlays → their locks, made from the pinned source; everything a build does is tried on the way."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace

from npu_overlays import source
from npu_overlays.changes.patched import patch_contracts
from npu_overlays.choice import Choice
from npu_overlays.commands.command import Command
from npu_overlays.commands.notes import plural
from npu_overlays.commands.options import Selection, add_selection, read_selection
from npu_overlays.commands.selection import select
from npu_overlays.console import Console
from npu_overlays.errors import ConfigError, MergeError, Problem
from npu_overlays.interrupts import held
from npu_overlays.lock.carried import carried_over
from npu_overlays.lock.contracts import Contract, check_contracts, contracts
from npu_overlays.lock.lockfile import ArchiveRecord, Lock, load_lock_of_any_pin, render_lock, write_lock
from npu_overlays.lock.metadata import UpstreamMetadata, upstream_metadata
from npu_overlays.merging.apply import apply_overlay
from npu_overlays.merging.emptying import written_out
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.operations import EVERYTHING
from npu_overlays.overlay.project import CONFIG_FILE, Overlay
from npu_overlays.pin import Archive
from npu_overlays.pipeline import acquire, check_shape, each, joined
from npu_overlays.progress import step
from npu_overlays.tree import SourceTree

_DESCRIPTION = """\
Write overlay.lock: what each operation depends on in the pinned upstream, and
what a wheel takes over from upstream's metadata. Builds hold upstream against
it.

Run it after writing an operation or changing the pin, and review the change of
the lock like code: it says what your operations rest on. On another pin it
prints, beside that, what upstream changed under the operations of its layers.

examples:
  npu-overlays lock verl@d62da49
  npu-overlays lock --all --check           for CI: is every lock up to date?
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What was asked for.

    Args:
        selection: which overlays, and where their upstreams are to come from.
        check: whether to write nothing, and fail where a lock would change.
    """

    selection: Selection
    check: bool


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a lock would change")


def _read(parsed: argparse.Namespace) -> Options:
    return Options(selection=read_selection(parsed), check=parsed.check)


def _run(options: Options, console: Console) -> int:
    report = _check if options.check else _write
    choice = options.selection.choice
    _, errors = each(select(options.selection), lambda overlay: report(make_lock(overlay, choice), console))
    if errors:
        raise joined(errors)
    return 0


def _write(made: Made, console: Console) -> None:
    overlay = made.content.overlay
    with held(f"{overlay.name} is locked"):
        changed = write_lock(overlay.folder, made.lock)
    _report(made, console, "written" if changed else "up to date")


def _check(made: Made, console: Console) -> None:
    overlay = made.content.overlay
    file = overlay.folder / LOCK_FILE
    if not file.is_file() or file.read_bytes() != render_lock(made.lock).encode():
        for notice in made.notices:
            console.notice(notice)
        fix = f"run `npu-overlays lock {overlay.name}`"
        raise ConfigError(Problem(where=str(file), what="is missing or out of date", fix=fix))
    _report(made, console, "up to date")


def _report(made: Made, console: Console, state: str) -> None:
    for notice in made.notices:
        console.notice(notice)
    console.line(f"{made.content.overlay.name}: {state}, {plural(len(made.lock.contracts), 'contract')}")


@dataclass(frozen=True, kw_only=True)
class Made:
    """A lock just made, the overlay it was made of, and what whoever locks is to look at."""

    content: Content
    lock: Lock
    notices: tuple[str, ...]


def make_lock(overlay: Overlay, choice: Choice) -> Made:
    """Return the lock of an overlay, made from its pinned source; raises `OverlayError`.

    Where git has the commit, every pinned archive is compared with it: a file
    that differs is an error, missing and extra ones are recorded. Where only an
    archive is at hand, what an earlier lock knows of the commit is kept, its
    metadata too: a wheel says less (no requirement by URL gets into an index).
    """
    tree = acquire(overlay, choice.mode_for(overlay), choice.clone(overlay.pin.project))
    before = _before(overlay)
    known = before if before and before.commit == overlay.pin.identity else None
    metadata = _metadata(tree, known)
    content = written_out(load_content(overlay, metadata.version), tree)
    releases = _releases(overlay, tree)
    archives = {one.file: _compared(overlay, one, tree, releases, known) for one in overlay.pin.archives}
    absent = frozenset(archives[tree.origin.archive].missing if tree.origin.kind == "archive" else ())
    applied = apply_overlay(content, tree, absent=absent)
    found = [*contracts(content, tree), *patch_contracts(applied.patched)]
    notices = check_contracts(found, found, content.operations, overlay=overlay.name)
    lock = Lock(
        commit=overlay.pin.identity,
        metadata=metadata,
        archives=archives,
        contracts=(*found, *_earlier_contracts(content, known, absent)),
    )
    check_shape(overlay, tree, releases.values())
    carried = carried_over(content, lock, before=before, absent=absent)
    return Made(content=content, lock=lock, notices=(*notices, *carried))


def _before(overlay: Overlay) -> Lock | None:
    """Return the lock there is, whatever pin it was made for."""
    try:
        return load_lock_of_any_pin(overlay)
    except ConfigError:
        return None


def _metadata(tree: SourceTree, known: Lock | None) -> UpstreamMetadata:
    """Return the commit's metadata: upstream's build backend tells them, unless only a release is at hand."""
    record = known.archives.get(tree.origin.archive) if known and tree.origin.kind == "archive" else None
    if known and record and record.compared and tree.origin.commit:
        return known.metadata
    step("asking upstream's build backend for its metadata")
    return upstream_metadata(tree)


def _earlier_contracts(content: Content, known: Lock | None, absent: frozenset[str]) -> tuple[Contract, ...]:
    """Return the earlier contracts of operations, substitutions and patches on files this source lacks."""
    places: set[tuple[str, str, str]] = {(one.path, one.symbol, one.action) for one in content.operations}
    places |= {(one.path, "", "edit") for one in content.edits}
    patches = {one.path for one in content.patches}
    return tuple(
        one
        for one in (known.contracts if known else ())
        if one.path in absent and (_places(one) & places or one.patch in patches)
    )


def _places(one: Contract) -> set[tuple[str, str, str]]:
    """Return what an operation can be called that a contract is of; one that empties a module has no other name."""
    return {(one.path, symbol, one.operation) for symbol in (one.symbol, EVERYTHING)}


def _releases(overlay: Overlay, tree: SourceTree) -> dict[str, SourceTree]:
    """Return the pinned archives by file name: all where git has the commit, else the one that stands in for it."""
    if tree.origin.kind != "git":
        return {tree.origin.archive: tree}
    releases = {}
    for archive in overlay.pin.archives:
        step(f"comparing {archive.file} with the commit")
        pin = replace(overlay.pin, archives=(archive,))
        releases[archive.file] = source.acquire(pin, mode="archive", progress=step)
    return releases


def _compared(
    overlay: Overlay, archive: Archive, tree: SourceTree, releases: Mapping[str, SourceTree], known: Lock | None
) -> ArchiveRecord:
    pin = overlay.pin
    if not pin.commit:
        return ArchiveRecord(compared=True)  # it is what is pinned
    if tree.origin.kind != "git":
        return (
            known.archives.get(archive.file, ArchiveRecord(compared=False)) if known else ArchiveRecord(compared=False)
        )
    ours = {path: entry.blob for path, entry in tree.entries.items() if pin.place(path)}
    theirs = {path: entry.blob for path, entry in releases[archive.file].entries.items() if pin.place(path)}
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


COMMAND = Command(
    name="lock",
    summary="write overlay.lock: what each operation depends on in the pinned upstream",
    description=_DESCRIPTION,
    arguments=_add_arguments,
    read=_read,
    run=_run,
)
