"""Splices: replacements of byte ranges, applied together; every other byte is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Splice:
    """Replace bytes `start` to `end` of a file by `text`.

    Args:
        start: where the replaced bytes begin.
        end: where they end; for an insertion, `start`.
        text: the new text.
        where: its place in the overlay, for messages.
        ends: depth of the class whose last line an insertion becomes; 0 for every other splice.
    """

    start: int
    end: int
    text: str
    where: str
    ends: int = 0


def overlapping(splices: Iterable[Splice]) -> list[tuple[Splice, Splice]]:
    """Return every splice that overlaps an earlier one, paired after it."""
    found = []
    reach: Splice | None = None
    for change in in_order(splices):
        if reach and change.start < reach.end:
            found.append((reach, change))
        if reach is None or change.end > reach.end:
            reach = change
    return found


def splice(content: bytes, splices: Iterable[Splice], *, newline: str) -> bytes:
    r"""Return `content` with every splice applied.

    Args:
        content: the original bytes, UTF-8.
        splices: replacements that do not overlap; insertions at one place keep their order, but for ends of classes.
        newline: the line end to write for ``\n`` in inserted texts.
    """
    parts: list[bytes] = []
    position = 0
    for change in in_order(splices):
        parts += [content[position : change.start], change.text.replace("\n", newline).encode()]
        position = change.end
    return b"".join([*parts, content[position:]])


def placed(splices: Iterable[Splice], *, newline: str) -> list[tuple[int, int, Splice]]:
    """Return every splice in order, with the byte range of its text in the result."""
    found = []
    shift = 0
    for change in in_order(splices):
        start, size = change.start + shift, len(change.text.replace("\n", newline).encode())
        found.append((start, start + size, change))
        shift += size - (change.end - change.start)
    return found


def in_order(splices: Iterable[Splice]) -> list[Splice]:
    """Sort by place; an insertion precedes a replacement at the same byte.

    At the end of nested classes, insertions into the innermost come first, and those after all classes last.
    """
    return sorted(splices, key=lambda change: (change.start, change.end, -change.ends))
