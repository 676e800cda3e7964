"""The cache folder: work is done in a temporary folder inside it and published whole by one rename.

Right without locks: whoever renames first wins and everybody uses that
result. The lock only spares several processes the same download.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from npu_overlays.errors import OutputError, Problem

Progress = Callable[[str], None]

VARIABLE = "NPU_OVERLAYS_CACHE"
_DAY = 24 * 60 * 60
_LOCK_WAIT = 20 * 60


def cache_root() -> Path:
    """Return the cache folder: ``$NPU_OVERLAYS_CACHE``, else the user's cache folder of this platform."""
    chosen = os.environ.get(VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path(platformdirs.user_cache_dir("npu-overlays"))


@contextmanager
def using(cache: Path) -> Iterator[None]:
    """Turn a failure to read or write below `cache` into an `OutputError` that says how to move the cache."""
    try:
        yield
    except OSError as error:
        raise unusable(cache, f"{error.strerror or error} ({error.filename or cache})") from error


def unusable(cache: Path, what: str) -> OutputError:
    """Return the error that says the cache cannot be used."""
    fix = f"free space there, or set {VARIABLE} to a folder that can be written"
    return OutputError(Problem(where=str(cache), what=f"the source cache cannot be used: {what}", fix=fix))


@contextmanager
def workspace(cache: Path) -> Iterator[Path]:
    """Give a new folder on the cache's own file system; it is gone afterwards, whatever happened.

    A killed process leaves its folder behind; it is swept up by a later one, a day on.
    """
    folder = cache / "tmp"
    folder.mkdir(parents=True, exist_ok=True)
    _sweep(folder)
    work = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=folder))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def publish(made: Path, destination: Path) -> None:
    """Rename `made` to `destination`; where another process was first, leave its result there."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    try:
        made.rename(destination)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def publish_file(made: Path, destination: Path) -> None:
    """Rename the file `made` to `destination`, over one that another process put there."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    made.replace(destination)


def discard(cache: Path, entry: Path) -> None:
    """Remove a damaged entry: out of sight in one step, then deleted."""
    with using(cache), workspace(cache) as work, suppress(FileNotFoundError):
        entry.rename(work / "discarded")


@contextmanager
def exclusive(cache: Path, name: str, progress: Progress) -> Iterator[None]:
    """Hold the lock called `name`, so that one process at a time acquires the same thing.

    Args:
        cache: the cache folder.
        name: what is being acquired.
        progress: told when another process is waited for.
    """
    lock = _acquired(cache / "locks" / f"{name}.lock", progress)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _acquired(path: Path, progress: Progress) -> FileLock | None:
    # No lock (a file system without them, somebody else's cache, too long a wait) is no obstacle.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(str(path))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            progress(f"waiting for another process that acquires {path.stem}")
            lock.acquire(timeout=_LOCK_WAIT)
    except (OSError, NotImplementedError):
        return None
    return lock


def _sweep(folder: Path) -> None:
    for stale in folder.iterdir():
        with suppress(OSError):
            if time.time() - stale.stat().st_mtime > _DAY and not _alive(stale.name.partition("-")[0]):
                shutil.rmtree(stale, ignore_errors=True)


def _alive(process: str) -> bool:
    if not process.isdigit():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
