"""Files: a path → what lies there. None of it can raise, and none waits for somebody to write.

With `commands` and `system` it is all of the doctor that touches the machine it examines; `tests/doctor` sees to that.
"""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH100, PTH113, PTH115, PTH118, PTH123, PTH208

from __future__ import annotations

import contextlib
import mmap
import os
from collections.abc import Callable, Iterable, Iterator

_LARGEST = 4 << 20  # no file read as text is larger; a runaway log under a known name must not fill memory
_MOST_FILES = 5_000


def is_file(path: str) -> bool:
    """Return whether there is such a file."""
    return _safe(os.path.isfile, path)


def is_folder(path: str) -> bool:
    """Return whether there is such a folder."""
    return _safe(os.path.isdir, path)


def exists(path: str) -> bool:
    """Return whether there is anything of that name, a device too."""
    return _safe(os.path.exists, path)


def usable(path: str) -> bool:
    """Return whether this user may read and write a file."""
    return _safe(lambda place: os.access(place, os.R_OK | os.W_OK), path)


def names(path: str) -> list[str]:
    """Return the names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(path))
    except (OSError, ValueError):
        return []


def content(path: str, *, most: int = -1) -> bytes | None:
    """Return what a regular file holds, cut at `most` bytes; None where it cannot be read.

    Opening anything else can take for ever: a pipe waits for somebody to write to it.
    """
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb", buffering=0) as file:  # one that is read at once needs none
            return file.read(most)
    except (OSError, ValueError):
        return None


def text(path: str) -> str | None:
    """Return the text of a regular file, with marks where it is not UTF-8, cut where it is very long; None for none."""
    found = content(path, most=_LARGEST)
    return None if found is None else found.decode("utf-8", "replace")


def mentions(path: str, wanted: str) -> bool:
    """Return whether a file holds a text."""
    return wanted.encode() in (content(path, most=_LARGEST) or b"")


def texts_in(path: str, texts: Iterable[str]) -> set[str] | None:
    """Return which texts a library of any size holds; None where it cannot be read."""
    if not is_file(path):
        return None
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as library:
            return {wanted for wanted in texts if library.find(wanted.encode()) >= 0}
    except (OSError, ValueError):  # it may be empty
        return None


def python_files(folder: str, *, most: int = _MOST_FILES) -> Iterator[str]:
    """Yield the Python files below a folder, in order, not more than `most`."""
    count = 0
    for here, inner, found in os.walk(folder):
        inner[:] = sorted(name for name in inner if name != "__pycache__")
        for name in sorted(found):
            if name.endswith(".py") and count < most:
                count += 1
                yield os.path.join(here, name)


def absolute(path: str) -> str:
    """Return a path that does not depend on the current folder; the path itself where that folder is gone."""
    try:
        return os.path.abspath(path)
    except (OSError, ValueError):
        return path


def real(path: str) -> str:
    """Return a path with its links followed; the path itself where they cannot be."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def link(path: str) -> str:
    """Return what a link points to, empty where that cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        return os.readlink(path)
    return ""


def _safe(question: Callable[[str], bool], path: str) -> bool:
    try:
        return question(path)
    except (OSError, ValueError):  # a name with a zero byte
        return False
