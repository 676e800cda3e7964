"""Placing: files of an index, made in a folder beside it → moved to their places, by one process at a time."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from npu_overlays.errors import OutputError, Problem
from npu_overlays.index.stored import HTML, JSON
from npu_overlays.interrupts import held
from npu_overlays.progress import step

_LOCK = ".npu-overlays-index.lock"
_WAIT = 2


def unchanged(source: Path, copy: Path, page: Path) -> bool:
    """Return whether a file is the one that was copied, and then listed.

    Nobody can set the time of a change (of a name, too), as opposed to the time of writing.
    """
    try:
        ours, theirs, then = source.stat(), copy.stat(), page.stat().st_ctime_ns
    except OSError:
        return False
    same = (ours.st_size, ours.st_mtime_ns) == (theirs.st_size, theirs.st_mtime_ns)
    return same and ours.st_ctime_ns <= theirs.st_ctime_ns <= then


def copy(source: Path, target: Path) -> None:
    """Copy a file with its time, which says later that it is the same; raises `OutputError` where it cannot be read."""
    target.parent.mkdir(exist_ok=True)
    try:
        before = source.stat()
        stream = source.open("rb")
    except OSError as error:
        what, fix = f"cannot be read: {error.strerror}", "see that this user may read it"
        raise OutputError(Problem(where=str(source), what=what, fix=fix)) from error
    with stream, target.open("wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
    os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))


def move(folder: Path, out: Path) -> None:
    """Move everything to its place: files before the pages that list them, and the page of all projects last."""
    staged = [path for path in folder.rglob("*") if path.is_file()]
    with held(f"the index in {out} is up to date"):
        for path in sorted(staged, key=lambda path: (_is_page(path), path.parent == folder, str(path))):
            target = out / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            path.chmod(0o644)
            path.replace(target)


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
