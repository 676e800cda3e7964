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
    """What one walk over the shipped folders saw."""

    present: tuple[str, ...]  # regular files that were built
    missing: tuple[str, ...]  # built and not there
    odd: tuple[str, ...]  # built as files, and now something else
    added: tuple[str, ...]  # there and not built: files, and folders as ``name/``


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
    sorted_by: dict[Kind | None, list[str]] = {"file": [], "other": [], None: []}
    for path in sorted(subject.files):
        folder, _, name = path.rpartition("/")
        if folder not in folders:  # what else lies there is not ours
            folders[folder] = subject.store.listing(folder)
        kind = folders[folder].get(name)
        sorted_by["other" if kind == "folder" else kind].append(path)
    present, odd, missing = map(tuple, (sorted_by["file"], sorted_by["other"], sorted_by[None]))
    return Survey(present=present, missing=missing, odd=odd, added=added)


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
    for name, kind in subject.store.listing(folder).items():
        if kind != "folder" or (name != _CACHE and _holds_files(subject, f"{folder}/{name}")):
            return True
    return False


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
