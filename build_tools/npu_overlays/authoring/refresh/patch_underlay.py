"""Patch underlay: a change of a merged module → the same change of upstream's, if it touches only upstream's text."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import TypeAlias

from npu_overlays.merging.authorship import Authorship
from npu_overlays.merging.results import MergedModule
from npu_overlays.model.encodings import as_declared, as_utf8
from npu_overlays.model.parsing import line_starts

_Nearest: TypeAlias = Callable[[Authorship, int], int | None]


def carried_below(upstream: bytes, merged: MergedModule, wanted: bytes) -> Iterator[bytes]:
    """Yield upstream's module with what leads from the merged to the wanted one; nothing where that is not its text.

    What is put in between or behind the text of operations alone goes to the nearest that is upstream's: once to that
    above, and once to that below. Whether it means the same there is to be tried.

    Args:
        upstream: its bytes.
        merged: what operations make of it.
        wanted: what is to be made of it.
    """
    tried = (_carried(upstream, merged, wanted, nearest) for nearest in (_above, _below))
    yield from dict.fromkeys(one for one in tried if one is not None)


def _carried(upstream: bytes, merged: MergedModule, wanted: bytes, nearest: _Nearest) -> bytes | None:
    source = as_utf8(upstream)
    old, new = (as_utf8(content).splitlines(keepends=True) for content in (merged.content, wanted))
    starts = line_starts(old)
    parts: list[bytes] = []
    position = 0
    for tag, first, behind, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        place = _place(merged.authorship, starts[first], starts[behind], nearest)
        if place is None or place[0] < position:
            return None
        parts += [source[position : place[0]], *new[start:end]]
        position = place[1]
    return as_declared(b"".join([*parts, source[position:]]), upstream)


def _place(authorship: Authorship, start: int, end: int, nearest: _Nearest) -> tuple[int, int] | None:
    """Return where bytes of the merged module stand in upstream's; of none, where something could be put in."""
    if start == end:
        beside = _beside(authorship, start)
        at = nearest(authorship, start) if beside is None else beside
        return None if at is None else (at, at)
    first, last = authorship.origin(start), authorship.origin(end - 1)
    if first is None or last is None or last - first != end - 1 - start:
        return None
    inside = all(authorship.origin(offset) is not None for offset in range(start, end))
    return (first, last + 1) if inside else None


def _beside(authorship: Authorship, offset: int) -> int | None:
    """Return the place of an offset beside a byte of upstream's; None where there is none on either side."""
    before = authorship.origin(offset - 1) if offset else None
    return authorship.origin(offset) if before is None else before + 1


def _above(authorship: Authorship, offset: int) -> int | None:
    """Return the place behind the last byte of upstream's in front of an offset; None where there is none."""
    return max((origin for start, origin in _ends(authorship) if start <= offset), default=None)


def _below(authorship: Authorship, offset: int) -> int | None:
    """Return the place in front of the first byte of upstream's behind an offset; None where there is none."""
    starts = ((one.start, one.origin) for one in authorship.stretches if one.origin is not None)
    return next((origin for start, origin in starts if start >= offset), None)


def _ends(authorship: Authorship) -> Iterator[tuple[int, int]]:
    """Yield where stretches of upstream's end, in the merged module and in upstream's."""
    for one in authorship.stretches:
        if one.origin is not None:
            yield one.end, one.origin + one.end - one.start
