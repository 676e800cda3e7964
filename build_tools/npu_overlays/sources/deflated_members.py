"""Deflated members: a file's bytes → their deflated form in a wheel; those of upstream's files are cached.

Deflating a whole upstream takes as long as the rest of a build, and nearly all of it is the same every time. So a cache
file (``members/<id>-<packages>``) holds one upstream's shipped files, deflated: a line with the digest of what follows;
a line of JSON with each file's checksum, size, sha256 and deflated size by git's id; then the bytes. A file that does
not match its digest, or holds other files than git's ids name, is written again. The name includes the version of zlib,
since versions write different bytes.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from npu_overlays.errors import OutputError
from npu_overlays.sources import cache as caching
from npu_overlays.sources.cache_trust import check
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.tree import FileEntry, Source, SourceTree, blob_id

# Another layout of these files must have another name: of an older one nothing could be read.
_LAYOUT = "2"
# Of one overlay, for each of the Pythons that build it and a change that is taken back.
_REMEMBERED = 6
_RECENT = 64


@dataclass(frozen=True)
class DeflatedMember:
    """A file as a wheel holds it."""

    checksum: int  # the CRC-32 of its bytes
    size: int  # how many there are
    sha256: str  # of them, hex
    deflated: bytes  # the same bytes as a raw deflate stream


def deflated(content: bytes) -> DeflatedMember:
    """Return a file deflated as in hatchling's wheels: zlib's default level, without a header."""
    made = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    stream = made.compress(content) + made.flush()
    return DeflatedMember(zlib.crc32(content), len(content), hashlib.sha256(content).hexdigest(), stream)


def inflated(member: DeflatedMember) -> bytes:
    """Return the bytes of a file."""
    return zlib.decompress(member.deflated, -zlib.MAX_WBITS, member.size)


class Inflated(Mapping[str, bytes]):
    """The content of a tree's files by path, inflated on demand: deflated, it takes a fifth of the memory.

    Args:
        entries: every file of the tree.
        members: the shipped ones by git's id, already checked against the ids.
        others: the content of the files that are not shipped.
    """

    def __init__(
        self, entries: Mapping[str, FileEntry], members: Mapping[str, DeflatedMember], others: Mapping[str, bytes]
    ) -> None:
        self.members = members
        self._entries = entries
        self._others = others
        # One file is often read several times on end.
        self._inflated = lru_cache(maxsize=_RECENT)(lambda blob: inflated(members[blob]))

    def __getitem__(self, path: str) -> bytes:
        blob = self._entries[path].blob
        return self._inflated(blob) if blob in self.members else self._others[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def upstream_members(tree: SourceTree, pin: Pin) -> Mapping[str, DeflatedMember]:
    """Return the shipped files of an upstream by git's id, cached if possible; raises `OutputError`.

    A cache that cannot be written is not an error; one that others can write is. Files that the cached tree lacks are
    left out.
    """
    if isinstance(tree.content, Inflated):
        return tree.content.members
    cache = caching.cache_root()
    found = kept_members(tree.source, pin, cache)
    if found is not None:
        return found
    file = kept(cache, tree.source.sha256 or tree.source.commit, pin)
    shipped = {entry.blob: path for path, entry in tree.entries.items() if pin.place(path)}
    members = {blob: deflated(tree.read(path)) for blob, path in sorted(shipped.items())}
    keep(cache, file, packed(None, members))
    return members


def kept_members(source: Source, pin: Pin, cache: Path) -> dict[str, DeflatedMember] | None:
    """Return the cached shipped files of an upstream by git's id; raises `OutputError`.

    None if they are not cached, or do not match git's ids.
    """
    file = kept(cache, source.sha256 or source.commit, pin)
    check(cache, file)
    with suppress(OSError, ValueError, zlib.error):
        members = unpacked(file.read_bytes())[1]
        if all(_holds(blob, member) for blob, member in members.items()):
            return members
    return None


def _holds(blob: str, member: DeflatedMember) -> bool:
    """Return whether a member's bytes match git's id: only what the commit names is shipped."""
    content = inflated(member)
    said = (member.checksum, member.size, member.sha256)
    return said == (zlib.crc32(content), len(content), hashlib.sha256(content).hexdigest()) and blob_id(content) == blob


def keep(cache: Path, file: Path, content: bytes) -> None:
    """Put a file into the cache; a cache that cannot be written is not an error."""
    with suppress(OutputError):
        caching.keep(cache, file, content)


def kept(cache: Path, identity: str, pin: Pin) -> Path:
    """Return where the cache keeps the shipped files of a commit or archive, deflated by this zlib."""
    names = "\n".join([_LAYOUT, zlib.ZLIB_RUNTIME_VERSION, *sorted(pin.packages)])
    return cache / "members" / f"{identity}-{hashlib.sha256(names.encode()).hexdigest()[:12]}"


def kept_merged(cache: Path, identity: str, overlay: str, key: str) -> Path:
    """Return where the cache keeps an overlay's merged files.

    Args:
        cache: the cache folder.
        identity: of upstream: the commit id, or the archive's sha256.
        overlay: its name.
        key: a digest of every other input.
    """
    name = hashlib.sha256(overlay.encode("utf-8", "surrogateescape")).hexdigest()
    return cache / "merged" / f"{identity}-{name[:8]}-{key[:24]}"


def forget_older(file: Path) -> None:
    """Remove earlier merges of the same overlay and upstream, except the last few."""
    with suppress(OSError):  # somebody else's cache, or somebody removes them now
        others = sorted(file.parent.glob(f"{file.name.rpartition('-')[0]}-*"), key=lambda one: one.stat().st_mtime)
        for older in others[:-_REMEMBERED]:
            older.unlink(missing_ok=True)


def packed(said: Any, members: Mapping[str, DeflatedMember]) -> bytes:  # any JSON value
    """Return members and further data as one file with its own digest."""
    index = {name: (one.checksum, one.size, one.sha256, len(one.deflated)) for name, one in members.items()}
    stated = json.dumps({"said": said, "members": index}).encode()
    content = b"\n".join([stated, b"".join(one.deflated for one in members.values())])
    return b"\n".join([hashlib.sha256(content).hexdigest().encode(), content])


def unpacked(content: bytes) -> tuple[Any, dict[str, DeflatedMember]]:
    """Return the arguments of `packed`, given its result; raises `ValueError` for other bytes."""
    view, end = memoryview(content), content.find(b"\n")
    if hashlib.sha256(view[end + 1 :]).hexdigest().encode() != content[:end]:
        msg = "another content than its digest says"
        raise ValueError(msg)
    begin = content.index(b"\n", end + 1) + 1
    stated = json.loads(content[end + 1 : begin])
    index = stated["members"]
    ends = accumulate((length for *_, length in index.values()), initial=begin)
    members = {
        name: DeflatedMember(checksum, size, sha256, content[start:stop])
        for (name, (checksum, size, sha256, _)), (start, stop) in zip(index.items(), pairwise(ends), strict=True)
    }
    return stated["said"], members
