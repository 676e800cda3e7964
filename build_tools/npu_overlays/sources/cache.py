"""The cache folder: work is done in a temporary folder inside it and published whole by one rename.

It holds a bare repository for each commit (``commits/<id>.git``) and the release archives by digest
(``archives/<sha256>``): both are checked against their names at each read. Anything in it may be removed at any time.

It needs no locks to be correct: the first process that renames wins, and all use its result. The lock only spares
several processes the same download.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs
from filelock import FileLock, Timeout

from npu_overlays.errors import OutputError, Problem, UsageError
from npu_overlays.files import scratch
from npu_overlays.paths import at_home

Progress = Callable[[str], None]

VARIABLE = "NPU_OVERLAYS_CACHE"
_LOCK_WAIT = 20 * 60
_LOCK_TOLD = 2


def cache_root() -> Path:
    """Return the cache folder: ``$NPU_OVERLAYS_CACHE``, else the user's cache folder of this platform.

    Raises:
        UsageError: the variable names no folder.
    """
    chosen = os.environ.get(VARIABLE)
    if not chosen:
        return Path(platformdirs.user_cache_dir("npu-overlays"))
    root = at_home(chosen)
    if root.parts[0].startswith("~"):
        what, fix = (
            f"`{chosen}` names the home folder of a user who does not exist",
            f"set {VARIABLE}=/path/to/a/folder",
        )
        raise UsageError(Problem(where=VARIABLE, what=what, fix=fix))
    return root.absolute()


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
    """Give a new folder on the cache's own file system; it is removed afterwards, at the latest by the next call."""
    with scratch(room(cache, "tmp")) as work:
        yield work


def publish(cache: Path, made: Path, destination: Path) -> None:
    """Rename a file or folder to `destination`; if another process put a folder there, keep that."""
    room(cache, destination.parent.name)
    close(made, cache)
    try:
        made.replace(destination)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


def keep(cache: Path, file: Path, content: bytes) -> None:
    """Put a file into the cache; raises `OutputError` if that fails."""
    with using(cache), workspace(cache) as work:
        (work / "made").write_bytes(content)
        publish(cache, work / "made", file)


def room(cache: Path, name: str) -> Path:
    """Return a folder of the cache, created if necessary."""
    if not cache.exists():
        cache.mkdir(parents=True, exist_ok=True)
        cache.chmod(0o755)
    room = cache / name
    if not room.exists():
        room.mkdir(exist_ok=True)
        # As open to the user's group as the cache is, which the umask of who made the room does not decide.
        room.chmod(0o755 | cache.stat().st_mode & stat.S_IWGRP)
    return room


def close(entry: Path, cache: Path) -> None:
    """Give others no more write access to an entry than to the cache itself, for any umask."""
    forbidden = 0o002 if cache.stat().st_mode & stat.S_IWGRP else 0o022
    for path in (entry, *entry.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & forbidden:
            path.chmod(mode & ~forbidden)


def discard(cache: Path, entry: Path) -> None:
    """Remove a damaged entry: rename it in one step, then delete it."""
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
    lock = _acquired(cache, name, progress)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()


def _acquired(cache: Path, name: str, progress: Progress) -> FileLock | None:
    # No lock (a file system without them, somebody else's cache, too long a wait) is no obstacle.
    try:
        lock = FileLock(str(room(cache, "locks") / f"{name}.lock"))
        for waited in range(0, _LOCK_WAIT, _LOCK_TOLD):
            with suppress(Timeout):
                lock.acquire(timeout=_LOCK_TOLD if waited else 0)
                return lock
            progress(f"waiting for another process that acquires {name}" + (f" ({waited} s)" if waited else ""))
    except (OSError, NotImplementedError):
        pass
    return None
