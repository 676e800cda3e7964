"""Below: a change of a merged module → the same change of upstream's, where it touches upstream's text alone."""

from __future__ import annotations

import difflib

from npu_overlays.merging.authorship import Authorship, bare
from npu_overlays.syntax.parsing import line_starts


def carried_below(upstream: bytes, merged: bytes, authorship: Authorship, wanted: bytes) -> bytes | None:
    """Return upstream's module with what leads from the merged to the wanted one; None where that is not its text.

    Args:
        upstream: its bytes.
        merged: what operations make of it.
        authorship: whose the bytes of that are.
        wanted: what is to be made of it.
    """
    bom, source = upstream[: len(upstream) - len(bare(upstream))], bare(upstream)
    old, new = (bare(content).splitlines(keepends=True) for content in (merged, wanted))
    starts = line_starts(old)
    parts: list[bytes] = []
    position = 0
    for tag, first, behind, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        place = _place(authorship, starts[first], starts[behind])
        if place is None or place[0] < position:
            return None
        parts += [source[position : place[0]], *new[start:end]]
        position = place[1]
    return bom + b"".join([*parts, source[position:]])


def _place(authorship: Authorship, start: int, end: int) -> tuple[int, int] | None:
    """Return where bytes of the merged module stand in upstream's; of none, where something could be put in."""
    if start == end:
        before = authorship.origin(start - 1) if start else None
        return (before + 1, before + 1) if before is not None else _alone(authorship.origin(start))
    first, last = authorship.origin(start), authorship.origin(end - 1)
    if first is None or last is None or last - first != end - 1 - start:
        return None
    inside = all(authorship.origin(offset) is not None for offset in range(start, end))
    return (first, last + 1) if inside else None


def _alone(origin: int | None) -> tuple[int, int] | None:
    return None if origin is None else (origin, origin)
