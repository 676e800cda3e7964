"""Release archives: a pinned wheel or sdist → its files under their repository paths.

The cache keeps the archive itself. Each build reads it again, from the bytes whose digest was compared with the pinned
one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from npu_overlays.sources import cache as caching
from npu_overlays.sources.archive_contents import read
from npu_overlays.sources.cache import Progress
from npu_overlays.sources.cache_trust import check
from npu_overlays.sources.pin import Archive, Pin
from npu_overlays.sources.tree import FileEntry, Source, SourceTree, blob_id


def acquire(pin: Pin, archive: Archive, *, cache: Path, progress: Progress) -> SourceTree:
    """Return the files of a pinned archive from the cache, downloading it first if necessary.

    Args:
        pin: the pin, for the repository folders that a wheel's folders stand for.
        archive: one of the pin's archives.
        cache: the cache folder.
        progress: called with a line about what is being waited for.

    Raises:
        SourceError: the archive cannot be fetched, is not the pinned one, or cannot be built from.
        OutputError: the cache cannot be read or written, or holds what others can write.
    """
    with caching.using(cache):
        content = _content(archive, cache, progress)
    found = read(content, archive.file, pin.homes, alone=not pin.commit)
    entries = {
        path: FileEntry(blob=blob_id(member.content), executable=member.executable)
        for path, member in sorted(found.files.items())
    }
    return SourceTree(
        entries=entries,
        content={path: member.content for path, member in found.files.items()},
        source=source_of(pin, archive),
        metadata=found.metadata,
        entry_points=found.entry_points,
        wheel=found.wheel,
        beside=found.beside,
        sboms=found.sboms,
        licences=found.licences,
    )


def source_of(pin: Pin, archive: Archive) -> Source:
    """Return the source that a build from an archive records."""
    return Source(
        kind="archive", repository=pin.repository, commit=pin.commit, archive=archive.file, sha256=archive.sha256
    )


def kept(cache: Path, sha256: str) -> Path:
    """Return where the cache keeps the archive file with this digest."""
    return cache / "archives" / sha256


def cached(archive: Archive, cache: Path) -> bytes | None:
    """Return an archive from the cache, None where it is not there; raises `OutputError` if others can write there."""
    file = kept(cache, archive.sha256)
    check(cache, file)
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    return content if hashlib.sha256(content).hexdigest() == archive.sha256 else None


def _content(archive: Archive, cache: Path, progress: Progress) -> bytes:
    content = cached(archive, cache)
    if content is None:
        with caching.exclusive(cache, archive.file, progress):
            content = cached(archive, cache)
            if content is None:
                from npu_overlays.sources.download import download  # noqa: PLC0415  # a fiftieth of a start, and seldom asked

                with caching.workspace(cache):  # where nothing can be written, a download would be in vain
                    content = download(archive, progress)
                caching.keep(cache, kept(cache, archive.sha256), content)
    return content
