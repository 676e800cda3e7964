"""Stores: relative POSIX paths → listings and bytes, of a folder and of a zip file on the path alike."""

# Plain `os`: a verification lists and opens thousands of files, which pathlib makes several times slower.
# ruff: noqa: PTH118, PTH123

from __future__ import annotations

import hashlib
import os
import zipfile
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Literal, Protocol

    Kind = Literal["file", "folder", "other"]

    class Store(Protocol):
        """What a verification needs of either."""

        root: str

        def listing(self, folder: str) -> Mapping[str, Kind]:
            """Return the kind of every name directly in a folder; empty where there is no such folder."""

        def read(self, path: str) -> bytes:
            """Return a file's bytes; raises ``OSError``."""


_CHUNK = 64
_THREADS = 8  # hides the latency of network file systems; on a local disk it changes little


class Folder:
    """A folder on the path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """See `Store`."""
        try:
            with os.scandir(os.path.join(self.root, folder) or ".") as entries:
                return {entry.name: _kind(entry) for entry in entries}
        except OSError:
            return {}

    def read(self, path: str) -> bytes:
        """See `Store`."""
        with open(os.path.join(self.root, path), "rb", buffering=0) as file:
            return file.read()


class Archive:
    """A zip file on the path."""

    def __init__(self, root: str) -> None:
        self.root = root

    def listing(self, folder: str) -> Mapping[str, Kind]:
        """See `Store`."""
        return self._folders.get(folder, {})

    def read(self, path: str) -> bytes:
        """See `Store`."""
        try:
            return self._zip.read(path)
        except Exception as error:  # zipfile raises half a dozen unrelated types for damaged archives
            raise OSError(str(error) or type(error).__name__) from error

    @cached_property
    def _zip(self) -> zipfile.ZipFile:
        return zipfile.ZipFile(self.root)

    @cached_property
    def _folders(self) -> dict[str, dict[str, Kind]]:
        folders: dict[str, dict[str, Kind]] = {}
        try:
            names = self._zip.namelist()
        except (OSError, zipfile.BadZipFile):
            return {}
        for name in names:
            parts = name.split("/")
            for depth in range(1, len(parts)):
                folders.setdefault("/".join(parts[: depth - 1]), {})[parts[depth - 1]] = "folder"
            if parts[-1]:
                folders.setdefault("/".join(parts[:-1]), {})[parts[-1]] = "file"
        return folders


def open_store(root: str) -> Store:
    """Return the store at an entry of the path."""
    return Archive(root) if os.path.isfile(root) else Folder(root)  # noqa: PTH113  # as above


def digests(store: Store, paths: Iterable[str]) -> dict[str, str | OSError]:
    """Return the sha256 of each file, hex, or why it cannot be read."""
    listed = list(paths)
    if isinstance(store, Archive):
        return dict(_digests(store, listed))
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  # only needed here

    chunks = [listed[start : start + _CHUNK] for start in range(0, len(listed), _CHUNK)]
    with ThreadPoolExecutor(_THREADS) as pool:
        return {path: found for part in pool.map(lambda chunk: _digests(store, chunk), chunks) for path, found in part}


def _digests(store: Store, paths: Iterable[str]) -> list[tuple[str, str | OSError]]:
    found: list[tuple[str, str | OSError]] = []
    for path in paths:
        try:
            found.append((path, hashlib.sha256(store.read(path)).hexdigest()))
        except OSError as error:
            found.append((path, error))
    return found


def _kind(entry: os.DirEntry[str]) -> Kind:
    if entry.is_file():
        return "file"
    return "folder" if entry.is_dir() else "other"
