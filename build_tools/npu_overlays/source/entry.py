"""Cache entries: a list of files goes in, ``tree/`` and a self-checking ``manifest.json`` come out, and back.

The manifest names every file's git blob id, so that damage to a file is found
(see `verify`), and holds the digest of itself. It records nothing about where
the bytes were had; that is said by the pin.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from npu_overlays.source import cache as caching
from npu_overlays.tree import FileEntry, Origin, SourceTree, blob_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from npu_overlays.source.cache import Progress

_SCHEMA = 2
# Shipped folders of the repository, and the folder of upstream's wheel that holds each.
Homes = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class File:
    """One file to be written: its repository path, its bytes, whether it is executable."""

    path: str
    content: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What an entry says beside its files.

    Args:
        links: paths of symbolic links, which are not written.
        submodules: paths of submodules, which are not written either.
        metadata: text of an archive's ``METADATA`` or ``PKG-INFO``.
        entry_points: text of a wheel's ``entry_points.txt``.
        wheel: text of a wheel's ``WHEEL`` file.
        homes: for an archive, the folders its paths were mapped to.
    """

    links: tuple[str, ...] = ()
    submodules: tuple[str, ...] = ()
    metadata: str = ""
    entry_points: str = ""
    wheel: str = ""
    homes: Homes = ()


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A cache entry as its manifest describes it."""

    folder: Path
    files: dict[str, FileEntry]
    extras: Extras

    def tree(self, origin: Origin) -> SourceTree:
        """Return the entry as a source tree that came from `origin`."""
        extras = self.extras
        return SourceTree(
            root=self.folder / "tree",
            entries=self.files,
            origin=origin,
            links=frozenset((*extras.links, *extras.submodules)),
            metadata=extras.metadata,
            entry_points=extras.entry_points,
            wheel=extras.wheel,
        )


def write(folder: Path, files: Iterable[File], extras: Extras) -> None:
    """Write the files and the manifest below `folder`, which must be a new path.

    Args:
        folder: the entry to make.
        files: the files, in any order, with paths already found safe.
        extras: what else to record.
    """
    (folder / "tree").mkdir(parents=True)
    made: set[Path] = set()
    entries: dict[str, FileEntry] = {}
    for file in files:
        target = folder / "tree" / file.path
        if target.parent not in made:
            target.parent.mkdir(parents=True, exist_ok=True)
            made.add(target.parent)
        entries[file.path] = write_file(target, file)
    body = {
        "schema": _SCHEMA,
        "files": {path: [entries[path].blob, entries[path].executable] for path in sorted(entries)},
        "links": sorted(extras.links),
        "submodules": sorted(extras.submodules),
        "metadata": extras.metadata,
        "entry_points": extras.entry_points,
        "wheel": extras.wheel,
        "homes": [list(home) for home in extras.homes],
    }
    manifest = json.dumps({"sha256": _digest(body), "body": body}, indent=0)
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")


def write_file(target: Path, file: File) -> FileEntry:
    """Write one file, read-only, at a path that must be new."""
    # "x": on a file system that ignores case, two upstream names must not become one file.
    with target.open("xb") as stream:
        stream.write(file.content)
    target.chmod(0o555 if file.executable else 0o444)
    return FileEntry(blob=blob_id(file.content), executable=file.executable)


def load(folder: Path) -> Entry | None:
    """Return the entry at `folder`, or None where there is none or its manifest is damaged."""
    try:
        body = _body((folder / "manifest.json").read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    if body is None or not (folder / "tree").is_dir():
        return None
    files = {path: FileEntry(blob=blob, executable=executable) for path, (blob, executable) in body["files"].items()}
    extras = Extras(
        links=tuple(body["links"]),
        submodules=tuple(body["submodules"]),
        metadata=body["metadata"],
        entry_points=body["entry_points"],
        wheel=body["wheel"],
        homes=tuple((path, home) for path, home in body["homes"]),
    )
    return Entry(folder=folder, files=files, extras=extras)


def load_or_make(cache: Path, folder: Path, make: Callable[[], None], progress: Progress) -> Entry:
    """Return the entry at `folder`, made first where it is absent or damaged.

    Args:
        cache: the cache folder.
        folder: the entry, somewhere below `cache`.
        make: publishes the entry at `folder`; called while this process holds the entry's lock.
        progress: told when another process is waited for.

    Raises:
        OutputError: the cache cannot be read or written.
    """
    with caching.using(cache):
        found = load(folder)
        if found is not None:
            return found
        with caching.exclusive(cache, folder.name, progress):
            damaged = folder.exists()  # asked first: what appears later is another process's good entry
            found = load(folder)
            if found is None:
                if damaged:
                    caching.discard(cache, folder)
                make()
                found = load(folder)
    if found is None:
        raise caching.unusable(cache, f"the entry {folder.name} cannot be read back")
    return found


def _body(manifest: bytes) -> dict[str, Any] | None:
    try:
        document = json.loads(manifest)
        body = document["body"]
        intact = document["sha256"] == _digest(body) and body["schema"] == _SCHEMA
    except (ValueError, KeyError, TypeError):
        return None
    return dict(body) if intact else None


def _digest(body: object) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
