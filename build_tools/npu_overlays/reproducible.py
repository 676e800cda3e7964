"""Reproducible output: equal inputs give equal bytes and modes, and a file appears whole or not at all."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from npu_overlays.errors import OutputError, Problem
from npu_overlays.scratch import PREFIX, scratch

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
UNWRITABLE = _FULL | {errno.EROFS, errno.EACCES, errno.EPERM}


def canonical_json(value: Any) -> bytes:  # whatever JSON holds
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
        option: how the user chooses another place, e.g. ``--out``; empty where there is no other.
    """
    try:
        with _umask():
            yield
    except OSError as error:
        raise cannot_write(Path(error.filename or place), error, option=option) from error


@contextmanager
def _umask() -> Iterator[None]:
    """Let all that is made be readable for others, as what a web server gives out has to be, and closed to them."""
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
    return OutputError(Problem(where=str(place), what=f"cannot be written: {error.strerror or error}", fix=fix))
