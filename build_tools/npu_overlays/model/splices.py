"""Splices: replacements of byte ranges, applied together so that everything else stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Splice:
    """Replace bytes `start` to `end` of a file by `text`.

    Args:
        start: where the replaced bytes begin.
        end: where they end; for an insertion, `start`.
        text: what stands there instead.
        where: who asked for it.
        ends: how deep the class is whose last line an insertion becomes; 0 for every other splice.
    """

    start: int
    end: int
    text: str
    where: str
    ends: int = 0


def overlapping(splices: Iterable[Splice]) -> list[tuple[Splice, Splice]]:
    """Return every splice that would change bytes an earlier one changes, behind that earlier one."""
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
        newline: what ``\n`` in the inserted texts is written as.
    """
    parts: list[bytes] = []
    position = 0
    for change in in_order(splices):
        parts += [content[position : change.start], change.text.replace("\n", newline).encode()]
        position = change.end
    return b"".join([*parts, content[position:]])


def placed(splices: Iterable[Splice], *, newline: str) -> list[tuple[int, int, Splice]]:
    """Return every splice in order, with the bytes of the result its text takes up."""
    found = []
    shift = 0
    for change in in_order(splices):
        start, size = change.start + shift, len(change.text.replace("\n", newline).encode())
        found.append((start, start + size, change))
        shift += size - (change.end - change.start)
    return found


def in_order(splices: Iterable[Splice]) -> list[Splice]:
    """Sort by place; an insertion goes in front of a replacement that starts at the same byte.

    Where classes end, what becomes the last line of the innermost goes first and what follows all of them last.
    """
    return sorted(splices, key=lambda change: (change.start, change.end, -change.ends))
