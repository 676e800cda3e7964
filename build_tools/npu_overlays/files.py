"""Files: scratch folders that are gone afterwards, and outputs that appear whole or not at all, with equal bytes.

A process that is killed cannot clean up. So each scratch folder is held by a lock that ends with its owner, and the
next process that makes one removes those that nobody holds. This also works for processes of other containers and
machines that share the place, whose process ids mean nothing here.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from npu_overlays.errors import OutputError, Problem

if sys.platform != "win32":
    import fcntl

PREFIX = ".npu-overlays-"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
UNWRITABLE = _FULL | {errno.EROFS, errno.EACCES, errno.EPERM}


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
                    folder = Path(entry.path)
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
    """Lock a folder for as long as the returned descriptor is open; raises `OSError` if somebody else holds it."""
    descriptor = os.open(folder, os.O_RDONLY | _NO_LINK)
    try:
        if sys.platform != "win32":
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def canonical_json(value: Any) -> bytes:  # any JSON value
    """Return JSON whose bytes depend only on the value: sorted keys, UTF-8, one final line end."""
    return (json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def write_atomically(file: Path, content: bytes) -> None:
    """Write a file beside its place and rename it; raises `OutputError` and leaves the old one on failure."""
    with atomically(file) as made:
        made.write(content)


@contextmanager
def atomically(file: Path) -> Iterator[BinaryIO]:
    """Yield what is written beside a file's place, and take its name in the end; raises `OutputError` on failure.

    A link stays one, to what is written; a device, which would be replaced, is refused.
    """
    try:
        file = Path(os.path.realpath(file)) if file.is_symlink() else file
        if file.exists() and not file.is_file():
            raise OSError(errno.EINVAL, "it is no file")
        with _umask():
            file.parent.mkdir(parents=True, exist_ok=True)
            with scratch(file.parent) as folder:
                made = folder / file.name
                with made.open("wb") as opened:
                    yield opened
                made.replace(file)
    except OSError as error:
        raise cannot_write(file, error) from error


def remove(file: Path, *, within: Path) -> None:
    """Remove a file, and the folders below one that hold nothing without it; raises `OutputError` on failure."""
    try:
        file.unlink(missing_ok=True)
        for folder in (one for one in file.parents if within in one.parents):
            if folder.is_dir():
                if any(folder.iterdir()):
                    return
                folder.rmdir()
    except OSError as error:
        raise cannot_write(file, error) from error


@contextmanager
def writing(place: Path, *, option: str = "") -> Iterator[None]:
    """Turn a failure to write into an `OutputError` that names the folder which is full, or closed to us.

    Folders and files that are made meanwhile have the modes 755 and 644.

    Args:
        place: what is written, where the failure does not say it.
        option: how the user chooses another place, e.g. ``--out``; empty if there is no other.
    """
    try:
        with _umask():
            yield
    except OSError as error:
        raise cannot_write(Path(error.filename or place), error, option=option) from error


@contextmanager
def _umask() -> Iterator[None]:
    """Make new files readable for others, as a web server needs, and not writable."""
    before = os.umask(0o022)
    try:
        yield
    finally:
        os.umask(before)


def cannot_write(file: Path, error: OSError, *, option: str = "") -> OutputError:
    """Return the error for a file that cannot be written; a temporary one is named by the folder it lies in."""
    *_, place = file, *(folder.parent for folder in (file, *file.parents) if folder.name.startswith(PREFIX))
    fix = "free some space there" if error.errno in _FULL else "see that this user may write there"
    fix += f", or name another folder with {option}" if option else ""
    if isinstance(error, (FileExistsError, NotADirectoryError)) and file.is_file():
        what, fix = "is a file, not a folder", f"name a folder with {option}" if option else "move the file away"
        return OutputError(Problem(where=str(place), what=what, fix=fix))
    return OutputError(Problem(where=str(place), what=f"cannot be written: {error.strerror or error}", fix=fix))


def write_file(file: Path, content: bytes, *, executable: bool = False) -> None:
    """Write a file, with the folders around it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(0o755 if executable else 0o644)
