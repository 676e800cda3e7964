"""Members: the bytes of a file → how a wheel holds them, deflated; those of upstream's files stay in the cache.

To deflate a whole upstream takes as long as all else of a build together, and
nearly all of it is the same every time. So one file of the cache holds the
shipped files of one upstream, deflated (``members/<id>-<packages>``): a line
with the digest of all that follows, a line of JSON that says of each, by git's
id, its checksum, its size and its deflated size, and then those bytes. One
that is not what its digest says is made anew. Which zlib deflated belongs to
the name, for others write other bytes.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

from npu_overlays.errors import OutputError
from npu_overlays.pin import Pin
from npu_overlays.source import cache as caching
from npu_overlays.source.guard import check
from npu_overlays.tree import SourceTree


@dataclass(frozen=True)
class Member:
    """A file as a wheel holds it.

    Args:
        checksum: the CRC-32 of its bytes.
        size: how many there are.
        deflated: the same bytes as a raw deflate stream.
    """

    checksum: int
    size: int
    deflated: bytes


def deflated(content: bytes) -> Member:
    """Return what hatchling's wheels hold of a file: zlib's default level, without a header."""
    made = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return Member(zlib.crc32(content), len(content), made.compress(content) + made.flush())


def upstream_members(tree: SourceTree, pin: Pin) -> dict[str, Member]:
    """Return the shipped files of an upstream by git's id, from the cache where it has them; raises `OutputError`.

    A cache that cannot be written is no obstacle; one that others can write is an error. Of files that the tree in the
    cache did not have, nothing is returned.
    """
    cache = caching.cache_root()
    file = kept(cache, tree.source.sha256 or tree.source.commit, pin)
    check(cache, file)
    with suppress(OSError, ValueError):
        return _unpacked(file.read_bytes())
    shipped = {entry.blob: path for path, entry in tree.entries.items() if pin.place(path)}
    members = {blob: deflated(tree.read(path)) for blob, path in sorted(shipped.items())}
    with suppress(OutputError), caching.using(cache), caching.workspace(cache) as work:
        (work / "members").write_bytes(_packed(members))
        caching.publish(cache, work / "members", file)
    return members


def kept(cache: Path, identity: str, pin: Pin) -> Path:
    """Return where the cache keeps the shipped files of a commit or archive, deflated by the zlib at hand."""
    names = "\n".join([zlib.ZLIB_RUNTIME_VERSION, *sorted(pin.packages)])
    return cache / "members" / f"{identity}-{hashlib.sha256(names.encode()).hexdigest()[:12]}"


def _packed(members: Mapping[str, Member]) -> bytes:
    index = {blob: (one.checksum, one.size, len(one.deflated)) for blob, one in members.items()}
    content = b"\n".join([json.dumps(index).encode(), b"".join(one.deflated for one in members.values())])
    return b"\n".join([hashlib.sha256(content).hexdigest().encode(), content])


def _unpacked(packed: bytes) -> dict[str, Member]:
    """Return the members of a file in the cache; raises `ValueError` where it is not what was written."""
    digest, _, content = packed.partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != digest:
        msg = "another content than its digest says"
        raise ValueError(msg)
    said, _, data = content.partition(b"\n")
    index = json.loads(said)
    ends = accumulate((length for _, _, length in index.values()), initial=0)
    return {
        blob: Member(checksum, size, data[start:end])
        for (blob, (checksum, size, _)), (start, end) in zip(index.items(), pairwise(ends), strict=True)
    }
