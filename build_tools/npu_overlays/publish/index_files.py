"""Index files: copied into a folder beside the index, then moved to their places, by one process at a time.

A statement that names a wheel is copied beside it if its digests are those of the files.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from npu_overlays.errors import OutputError, Problem, listing
from npu_overlays.interrupts import held
from npu_overlays.progress import step
from npu_overlays.publish.distributions import digest
from npu_overlays.publish.simple_pages import FileLink
from npu_overlays.publish.stored_pages import HTML, JSON
from npu_overlays.wheels.statement import SUFFIX, named_digests

METADATA = ".metadata"
_LOCK = ".npu-overlays-index.lock"
_WAIT = 2
_CHUNK = 1 << 20


def changed_at(folder: Path) -> int:
    """Return when the page in a folder was changed, in nanoseconds, or 0.

    Unlike the time of writing, the time of a change cannot be set.
    """
    try:
        return (folder / HTML).stat().st_ctime_ns
    except OSError:
        return 0


def is_unchanged(source: Path, copy: Path, page_changed: int) -> bool:
    """Return whether a file is the one that was copied, and that a page changed at that time has listed since."""
    try:
        ours, theirs = source.stat(), copy.stat()
    except OSError:
        return False
    same = (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)
    return same and ours.st_ctime_ns <= theirs.st_ctime_ns <= page_changed


def has_metadata(link: FileLink, file: Path) -> bool:
    """Return whether the metadata of a wheel lie beside it with the digest of its page, which installers trust."""
    if not file.name.endswith(".whl"):
        return True
    digests, beside = link.core_metadata, file.with_name(file.name + METADATA)
    return isinstance(digests, Mapping) and beside.is_file() and digest(beside) == digests.get("sha256")


def is_published(file: Path, listed: FileLink | None, place: Path) -> bool:
    """Return whether a file has the bytes that the index published under its name, by its list or its folder."""
    hashes = _comparable(listed.hashes) if listed else {}
    if place.is_file() and "sha256" not in hashes and (listed is None or listed.is_local):
        hashes = {"sha256": digest(place)}
    if not hashes:
        return listed is None
    return hashes == {algorithm: digest(file, algorithm) for algorithm in hashes}


def _comparable(hashes: Mapping[str, str]) -> dict[str, str]:
    """Return the digests of known algorithms of one length."""
    found = {}
    for name in hashlib.algorithms_guaranteed & hashes.keys():
        if hashlib.new(name, usedforsecurity=False).digest_size:
            found[name] = hashes[name].lower()
    return found


def copy(source: Path, target: Path) -> str:
    """Copy a file with its time, by which the next run knows it again.

    Returns:
        The sha256 of what was written, hex.

    Raises:
        OutputError: it cannot be read.
    """
    target.parent.mkdir(exist_ok=True)
    try:
        before = source.stat()
        stream = source.open("rb")
    except OSError as error:
        what, fix = f"cannot be read: {error.strerror}", "see that this user may read it"
        raise OutputError(Problem(where=str(source), what=what, fix=fix)) from error
    written = hashlib.sha256()
    with stream, target.open("wb") as copied:
        while piece := stream.read(_CHUNK):
            copied.write(piece)
            written.update(piece)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    return written.hexdigest()


def move(folder: Path, out: Path, outdated: Iterable[Path]) -> None:
    """Move everything to its place: files before the pages that list them, and the page of all projects last.

    Of a page JSON comes first: HTML does not say all of it, so that the next run could not complete it from that.
    Outdated files of the index, which would be false then, are removed first.
    """
    with held(f"the index in {out} is up to date"):
        for path in outdated:
            path.unlink()
        staged = sorted(folder.iterdir())
        projects = [path for path in staged if path.is_dir()]
        for project in projects:
            (out / project.name).mkdir(exist_ok=True)
            staged += project.iterdir()
        staged.sort(key=lambda path: (path.name in {HTML, JSON}, path.parent == folder, path.name == HTML))
        for path in staged:
            if not path.is_dir():
                path.replace(out / path.relative_to(folder))


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Let nobody else update an index meanwhile; the lock ends with the process that holds it."""
    lock = FileLock(str(out / _LOCK))
    try:
        for waited in itertools.count(step=_WAIT):
            with suppress(Timeout):
                lock.acquire(timeout=_WAIT if waited else 0)
                break
            step(f"waiting for another process that updates {out}")
    except NotImplementedError as error:
        what, fix = "lies on a file system without locks", "write the index elsewhere with --out, and copy it there"
        raise OutputError(Problem(where=str(out), what=what, fix=fix)) from error
    try:
        yield
    finally:
        lock.release()


def is_outdated(statement: Path, digests: Mapping[str, str]) -> bool:
    """Return whether a statement gives another digest of some file than it has now; another file gives none."""
    return bool(_differing(named_digests(statement) or {}, digests))


def statement_faults(statement: Path, digests: Mapping[str, str]) -> list[Problem]:
    """Return why a statement must not be given out beside the wheel of its name, where files have these digests."""
    subjects, wheel = named_digests(statement), wheel_of(statement).name
    if subjects is None:
        what = "is no statement in the form of in-toto that can be read"
    elif wheel not in subjects:
        what = f"names no {wheel}, which it is called after"
    elif other := _differing(subjects, digests):
        what = f"gives another digest than {listing(other)} has"
    else:
        return []
    fix = "give the one that was written with these wheels, or leave it out"
    return [Problem(where=str(statement), what=what, fix=fix)]


def wheel_of(statement: Path) -> Path:
    """Return the wheel that a statement is called after."""
    return statement.with_name(f"{statement.name.removesuffix(SUFFIX)}.whl")


def _differing(subjects: Mapping[str, str], digests: Mapping[str, str]) -> list[str]:
    return [name for name, digest in subjects.items() if digests.get(name, digest) != digest]
