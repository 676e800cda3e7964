"""Scratch folders: a place → a new folder there that is gone afterwards, even if only the next time.

A process that is killed cannot clean up. So each folder is held by a lock
that ends with its owner, and whoever makes the next one removes those that
nobody holds. The same is right for processes of other containers and
machines that share the place, whose numbers would say nothing here.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = ".npu-overlays-"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """Give a new hidden folder in `place`, which must be there; those that killed processes left are removed first.

    Raises:
        OSError: nothing can be made there.
    """
    sweep(place)
    folder, held = _made(place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


@contextmanager
def temporaries(place: Path | None = None) -> Iterator[Path]:
    """Let everything that asks for a temporary file while the block runs, child processes too, have it in one scratch.

    Args:
        place: where, instead of the system's folder for temporary files.
    """
    before, variable = tempfile.tempdir, os.environ.get("TMPDIR")
    with scratch(place or _usual()) as folder:
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        try:
            yield folder
        finally:
            tempfile.tempdir = before
            if variable is None:
                del os.environ["TMPDIR"]
            else:
                os.environ["TMPDIR"] = variable


def _usual() -> Path:
    """Return where tempfile would say that temporary files go, but for its try, whose file stays if it is killed."""
    named = (os.environ.get(variable, "") for variable in ("TMPDIR", "TEMP", "TMP"))
    usable = filter(_takes_folders, (*named, "/tmp"))  # noqa: S108  # not a file
    return Path(next(usable, None) or tempfile.gettempdir()).absolute()


def _takes_folders(place: str) -> bool:
    """Return whether a folder can be made in a place, which permissions alone do not say."""
    try:
        Path(tempfile.mkdtemp(prefix=PREFIX, dir=place)).rmdir()
    except OSError:
        return False
    return bool(place)


def sweep(place: Path) -> None:
    """Remove the scratch folders below `place` that nobody holds any more."""
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    _remove_abandoned(Path(entry.path))


def _remove_abandoned(folder: Path) -> None:
    held = _hold(folder)  # raises where its owner holds it
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(held)


def _made(place: Path) -> tuple[Path, int | None]:
    """Return a new folder and what holds it; nothing does on a file system without locks, where none is swept."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
        try:
            held = _hold(folder)
        except (FileNotFoundError, BlockingIOError):  # taken for abandoned between its making and this
            continue
        except OSError:
            return folder, None
        if folder.is_dir():
            return folder, held
        os.close(held)


def _hold(folder: Path) -> int:
    """Lock a folder for as long as the returned descriptor is open; raises `OSError` where somebody else holds it."""
    descriptor = os.open(folder, os.O_RDONLY | _NO_LINK)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
