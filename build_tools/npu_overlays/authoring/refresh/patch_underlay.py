"""Patch underlay: a change of a merged module → the same change of upstream's, if it touches only upstream's text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from npu_overlays.authoring.refresh.replaced_ranges import replaced_ranges
from npu_overlays.merge.authorship import Authorship
from npu_overlays.merge.results import MergedModule
from npu_overlays.model.encodings import as_declared, as_utf8
from npu_overlays.model.syntax import line_starts

_Nearest: TypeAlias = Callable[[Authorship, int], int | None]


def underlays(upstream: bytes, merged: MergedModule, wanted: bytes) -> Iterator[bytes]:
    """Yield upstream's module with the changes from the merged to the wanted one; nothing if they touch other text.

    Text that is put in between or behind texts of operations goes beside the nearest text of upstream's: once beside
    that above, and once beside that below. Whether it means the same there has to be tried.

    Args:
        upstream: its bytes.
        merged: the result of the operations.
        wanted: what it should become.
    """
    above = _underlay(upstream, merged, wanted, _above)
    if above is not None:
        yield above
    below = _underlay(upstream, merged, wanted, _below)
    if below is not None and below != above:
        yield below


def _underlay(upstream: bytes, merged: MergedModule, wanted: bytes, nearest: _Nearest) -> bytes | None:
    source = as_utf8(upstream)
    old, new = (as_utf8(content).splitlines(keepends=True) for content in (merged.content, wanted))
    starts = line_starts(old)
    parts: list[bytes] = []
    position = 0
    for first, behind, start, end in replaced_ranges(old, new):
        place = _place(merged.authorship, starts[first], starts[behind], nearest)
        if place is None or place[0] < position:
            return None
        parts += [source[position : place[0]], *new[start:end]]
        position = place[1]
    return as_declared(b"".join([*parts, source[position:]]), upstream)


def _place(authorship: Authorship, start: int, end: int, nearest: _Nearest) -> tuple[int, int] | None:
    """Return where bytes of the merged module are in upstream's; for an empty range, where text can be put in."""
    if start == end:
        before = authorship.origin(start - 1) if start else None
        at = authorship.origin(start) if before is None else before + 1
        at = nearest(authorship, start) if at is None else at
        return None if at is None else (at, at)
    first, last = authorship.origin(start), authorship.origin(end - 1)
    if first is None or last is None or last - first != end - 1 - start:
        return None
    inside = all(authorship.origin(offset) is not None for offset in range(start, end))
    return (first, last + 1) if inside else None


def _above(authorship: Authorship, offset: int) -> int | None:
    """Return the place behind the last byte of upstream's in front of an offset, or None."""
    ends: list[int] = []
    for one in authorship.stretches:
        if one.origin is not None and one.end <= offset:
            ends.append(one.origin + one.end - one.start)
    return max(ends, default=None)


def _below(authorship: Authorship, offset: int) -> int | None:
    """Return the place in front of the first byte of upstream's behind an offset, or None."""
    for one in authorship.stretches:
        if one.origin is not None and one.start >= offset:
            return one.origin
    return None
