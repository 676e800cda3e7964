"""Placing: files of an index, made in a folder beside it → moved to their places, by one process at a time."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from npu_overlays.errors import OutputError, Problem
from npu_overlays.index.stored import HTML, JSON
from npu_overlays.interrupts import held
from npu_overlays.progress import step

_LOCK = ".npu-overlays-index.lock"
_WAIT = 2
_CHUNK = 1 << 20


def listed_at(place: Path) -> int:
    """Return when the page of a folder was changed, in nanoseconds; 0 where there is none.

    Nobody can set the time of a change (of a name, too), as opposed to the time of writing.
    """
    try:
        return (place / HTML).stat().st_ctime_ns
    except OSError:
        return 0


def unchanged(source: Path, copy: Path, listed: int) -> bool:
    """Return whether a file is the one that was copied, and then listed by a page that was changed at that time."""
    try:
        ours, theirs = source.stat(), copy.stat()
    except OSError:
        return False
    same = (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)
    return same and ours.st_ctime_ns <= theirs.st_ctime_ns <= listed


def copy(source: Path, target: Path) -> str:
    """Copy a file with its time, which says later that it is the same.

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
    with stream, target.open("wb") as copy:
        while piece := stream.read(_CHUNK):
            copy.write(piece)
            written.update(piece)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    return written.hexdigest()


def move(folder: Path, out: Path, outdated: Iterable[Path]) -> None:
    """Move everything to its place: files before the pages that list them, and the page of all projects last.

    Args:
        folder: where all of it was made.
        out: the index.
        outdated: files of it that would be false then, and go first.
    """
    homes = {path: out / path.name for path in sorted(folder.iterdir()) if path.is_dir()}
    homes[folder] = out
    staged = [(path, home) for place, home in homes.items() for path in place.iterdir() if path not in homes]
    with held(f"the index in {out} is up to date"):
        for home in homes.values():
            home.mkdir(exist_ok=True)
        for path in outdated:
            path.unlink()
        for path, home in sorted(staged, key=lambda one: _is_page(one[0])):  # else in this order
            path.replace(home / path.name)


def _is_page(path: Path) -> bool:
    return path.name in {HTML, JSON}


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
