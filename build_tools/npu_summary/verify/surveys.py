"""Surveys: what was built → every file and folder that is there, missing or too many, and digests of them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from threading import Thread

from ..frozen import Frozen
from ..stores import Archive, Store
from .subjects import Subject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..stores import Kind

_CACHE = "__pycache__"
_NFS = ".nfs"  # a deleted file that some process still has open, on a network file system
# Threads hide the latency of network file systems; on a local disk they only wait for each other.
_THREADS = 8
_TRIED = 16  # files, which show whether there is any
_SLOW = 0.0005  # seconds a file, a few times what a local disk takes


class Survey(Frozen):
    """What one walk over the shipped folders saw.

    Args:
        present: regular files that were built.
        missing: built and not there.
        odd: built as files, and now something else.
        added: there and not built: files, and folders as ``name/``.
        folders: every shipped folder with what lies in it, and the folders around those and around single files.
    """

    present: tuple[str, ...]
    missing: tuple[str, ...]
    odd: tuple[str, ...]
    added: tuple[str, ...]
    folders: Mapping[str, Mapping[str, Kind]]


def survey(subject: Subject) -> Survey:
    """List every folder that holds a built file, once."""
    built: dict[str, set[str]] = {}
    for path in subject.inside:
        folder, _, name = path.rpartition("/")
        while folder:
            built.setdefault(folder, set()).add(name)
            folder, _, name = folder.rpartition("/")
    folders = {folder: subject.store.listing(folder) for folder in sorted(built)}
    added = tuple(_additions(subject, built, folders))
    for folder in {path.rpartition("/")[0] for path in subject.files} - folders.keys():
        folders[folder] = subject.store.listing(folder)  # what else lies there is not ours
    kinds = {path: folders[(parts := path.rpartition("/"))[0]].get(parts[2]) for path in sorted(subject.files)}
    return Survey(
        present=tuple(path for path, kind in kinds.items() if kind == "file"),
        missing=tuple(path for path, kind in kinds.items() if kind is None),
        odd=tuple(path for path, kind in kinds.items() if kind in ("folder", "other")),
        added=added,
        folders=folders,
    )


def _additions(
    subject: Subject, built: Mapping[str, set[str]], folders: Mapping[str, Mapping[str, Kind]]
) -> Iterator[str]:
    for folder, listed in folders.items():
        for name, kind in sorted(listed.items()):
            if name in built[folder] or name == _CACHE or name.startswith(_NFS):
                continue
            path = f"{folder}/{name}"
            if kind != "folder":
                yield path
            elif _holds_files(subject, path):
                yield f"{path}/"


def _holds_files(subject: Subject, folder: str) -> bool:
    """Return whether anything but empty folders and caches lies below; an uninstall leaves such folders behind."""
    listed = subject.store.listing(folder)
    return any(
        kind != "folder" or (name != _CACHE and _holds_files(subject, f"{folder}/{name}"))
        for name, kind in listed.items()
    )


def digests(store: Store, paths: Iterable[str]) -> dict[str, str | OSError]:
    """Return the sha256 of each file, hex, or why it cannot be read."""
    listed = list(paths)
    found: dict[str, str | OSError] = {}
    begun = time.monotonic()
    _digest(store, listed[:_TRIED], found)
    rest = listed[_TRIED:]
    is_slow = time.monotonic() - begun > _SLOW * _TRIED
    if not is_slow or isinstance(store, Archive):
        _digest(store, rest, found)
        return found
    # Not by concurrent.futures, whose import takes as long as reading hundreds of files.
    threads = [Thread(target=_digest, args=(store, rest[first::_THREADS], found)) for first in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {path: found[path] for path in listed}


def _digest(store: Store, paths: Iterable[str], found: dict[str, str | OSError]) -> None:
    for path in paths:
        try:
            found[path] = hashlib.sha256(store.read(path)).hexdigest()
        except OSError as error:
            found[path] = error
