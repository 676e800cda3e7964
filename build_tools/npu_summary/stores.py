"""Stores: relative POSIX paths → listings and bytes, of a folder and of a zip file on the path alike."""

from __future__ import annotations

import errno
import os
import stat
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal
    from zipfile import ZipFile

    Kind = Literal["file", "folder", "other"]

# A pipe that nobody writes to would be waited for; where there is such a flag, line ends would be converted.
_AT_ONCE = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Folder:
    """A folder on the path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """Return the kind of every name directly in a folder; empty where there is no such folder."""
        try:
            with os.scandir(os.path.join(self.root, folder) or ".") as entries:
                return {entry.name: _kind(entry) for entry in entries}
        except (OSError, ValueError):  # the second of a name with a zero byte
            return {}

    def read(self, path: str) -> bytes:
        """Return a file's bytes; raises ``OSError``."""
        return read_file(f"{self.root}{os.sep}{path}")


class Archive:
    """A zip file on the path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """See `Folder`."""
        return self._folders.get(folder, {})

    def read(self, path: str) -> bytes:
        """See `Folder`."""
        try:
            return self._zip.read(path)
        except Exception as error:  # zipfile raises half a dozen unrelated types for damaged archives
            raise OSError(str(error) or type(error).__name__) from error

    @cached_property
    def _zip(self) -> ZipFile:
        from zipfile import ZipFile

        return ZipFile(self.root)

    @cached_property
    def _folders(self) -> dict[str, dict[str, Kind]]:
        folders: dict[str, dict[str, Kind]] = {}
        try:
            names = self._zip.namelist()
        except Exception:  # as in `read`
            return {}
        for name in names:
            parts = name.split("/")
            for depth in range(1, len(parts)):
                folders.setdefault("/".join(parts[: depth - 1]), {})[parts[depth - 1]] = "folder"
            if parts[-1]:
                folders.setdefault("/".join(parts[:-1]), {})[parts[-1]] = "file"
        return folders


Store = Folder | Archive


def open_store(root: str) -> Store:
    """Return the store at an entry of the path; the empty one is the current folder."""
    return Archive(root) if os.path.isfile(root) else Folder(root or ".")


def read_file(path: str) -> bytes:
    """Return a regular file's bytes; raises ``OSError``, and waits for no pipe.

    Not by `open`, which takes twice as long: a verification reads thousands of small files.
    """
    file = os.open(path, _AT_ONCE)
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        content = os.read(file, status.st_size + 1)
        # One byte more was asked for: where all else came, that was the end.
        while len(content) != status.st_size and (piece := os.read(file, status.st_size + 1)):
            content += piece
        return content
    finally:
        os.close(file)


def read_head(path: str, size: int) -> bytes:
    """Return at most that many of a file's first bytes; raises ``OSError``, and waits for no pipe."""
    file = os.open(path, _AT_ONCE)
    try:
        return os.read(file, size)
    finally:
        os.close(file)


def _kind(entry: os.DirEntry[str]) -> Kind:
    try:
        return "file" if entry.is_file() else "folder" if entry.is_dir() else "other"
    except OSError:  # a circle of links
        return "other"
