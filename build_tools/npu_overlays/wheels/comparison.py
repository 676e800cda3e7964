"""Comparison: the bytes of two wheels → which of their members differ and how, down to dates, modes and deflating."""

from __future__ import annotations

import difflib
import io
import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from npu_overlays.sources.archive_files import read_archive

_LINES = 20
_WIDTH = 200
# To compare larger texts line by line can take minutes.
_TEXT = 1 << 20


@dataclass(frozen=True, kw_only=True)
class MemberDifference:
    """One way in which two wheels differ."""

    path: str  # of the member; empty where it is of the archive as a whole
    how: str  # in words, of the one wheel and of the other
    diff: tuple[str, ...] = ()  # of two texts the first lines of their unified diff


@dataclass(frozen=True, kw_only=True)
class _Entry:
    """A member, as an archive has it."""

    info: zipfile.ZipInfo
    content: bytes
    deflated: bytes

    @property
    def date(self) -> str:
        return "{}-{:02}-{:02} {:02}:{:02}:{:02}".format(*self.info.date_time)

    @property
    def mode(self) -> str:
        return f"{self.info.external_attr >> 16:o}"

    @property
    def header(self) -> tuple[object, ...]:
        """The fields that no one sets on purpose."""
        info = self.info
        versions = (info.create_system, info.create_version, info.extract_version)
        attributes = (info.internal_attr, info.external_attr & 0xFFFF, info.flag_bits)
        return (*versions, *attributes, info.extra, info.comment)


def differences(one: bytes, other: bytes) -> tuple[MemberDifference, ...]:
    """Return how two wheels differ; nothing if their bytes are the same.

    Args:
        one: a whole wheel.
        other: a whole wheel.

    Raises:
        ArchiveError: one of them is no wheel.
    """
    if one == other:
        return ()
    ones, others = _entries(one), _entries(other)
    found = [*_members(ones, others), *_order(ones, others)]
    return tuple(found or [_outside(one, other)])


def _entries(wheel: bytes) -> dict[str, _Entry]:
    contents = {member.path: member.content for member in read_archive(wheel, "wheel.whl")}
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        infos = {info.orig_filename: info for info in archive.infolist()}
    return {
        path: _Entry(info=info, content=contents.get(path, b""), deflated=_deflated(wheel, info))
        for path, info in infos.items()
    }


def _deflated(wheel: bytes, info: zipfile.ZipInfo) -> bytes:
    """Return a member's bytes in the archive, after its header, name and extra fields."""
    name, extra = struct.unpack_from("<HH", wheel, info.header_offset + 26)
    start = info.header_offset + 30 + name + extra
    return wheel[start : start + info.compress_size]


def _members(ones: Mapping[str, _Entry], others: Mapping[str, _Entry]) -> Iterator[MemberDifference]:
    for path in dict.fromkeys([*ones, *others]):
        if path not in others:
            yield MemberDifference(path=path, how="is only in the wheel")
        elif path not in ones:
            yield MemberDifference(path=path, how="is only in what was made here")
        else:
            yield from _differing(path, ones[path], others[path])


def _differing(path: str, one: _Entry, other: _Entry) -> Iterator[MemberDifference]:
    if one.content != other.content:
        yield _content(path, one.content, other.content)
    elif one.info.compress_type != other.info.compress_type:
        yield MemberDifference(path=path, how="is stored in another way (deflated or not)")
    elif one.deflated != other.deflated:
        sizes = f"{len(one.deflated)} bytes, here {len(other.deflated)}"
        yield MemberDifference(
            path=path, how=f"is deflated otherwise, to {sizes}: by another zlib, or at another level"
        )
    if one.date != other.date:
        yield MemberDifference(path=path, how=f"is dated {one.date}, here {other.date}")
    if one.mode != other.mode:
        yield MemberDifference(path=path, how=f"has mode {one.mode}, here {other.mode}")
    if one.header != other.header:
        yield MemberDifference(path=path, how="has other fields in its header, which another archiver wrote")


def _content(path: str, one: bytes, other: bytes) -> MemberDifference:
    how = f"has another content: {len(one)} bytes, here {len(other)}"
    return MemberDifference(path=path, how=how, diff=tuple(_diff(one, other)))


def _diff(one: bytes, other: bytes) -> Iterator[str]:
    """Yield the first lines of the diff of two texts; nothing if one is no text, or they are too long."""
    then, here = _lines(one), _lines(other)
    if then and here and len(one) + len(other) <= _TEXT:
        lines = list(difflib.unified_diff(then, here, "in the wheel", "made here", lineterm="", n=1))
        yield from (line[:_WIDTH] for line in islice(lines, _LINES))
        if len(lines) > _LINES:
            yield f"… {len(lines) - _LINES} more lines"


def _lines(content: bytes) -> list[str]:
    try:
        return [] if b"\0" in content else content.decode().split("\n")
    except UnicodeDecodeError:
        return []


def _order(ones: Mapping[str, _Entry], others: Mapping[str, _Entry]) -> Iterator[MemberDifference]:
    mine = [path for path in ones if path in others]
    theirs = [path for path in others if path in ones]
    first = next(((one, other) for one, other in zip(mine, theirs, strict=True) if one != other), None)
    if first:
        yield MemberDifference(
            path="", how=f"its members are in another order: {first[0]} stands where {first[1]} does here"
        )


def _outside(one: bytes, other: bytes) -> MemberDifference:
    pairs = enumerate(zip(one, other, strict=False))
    place = next((place for place, (here, there) in pairs if here != there), min(len(one), len(other)))
    return MemberDifference(
        path="", how=f"its members are the same, and what lies between them differs from byte {place} on"
    )
