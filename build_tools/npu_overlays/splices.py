"""Splices: replacements of byte ranges, applied together so that everything else stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, kw_only=True)
class Splice:
    """Replace bytes `start` to `end` of a file by `text`; `where` names who asked for it."""

    start: int
    end: int
    text: str
    where: str


def overlapping(splices: Iterable[Splice]) -> list[tuple[Splice, Splice]]:
    """Return the pairs of neighbouring splices that would change the same bytes."""
    ordered = sorted(splices, key=lambda splice: (splice.start, splice.end))
    return [(first, second) for first, second in pairwise(ordered) if second.start < first.end]


def splice(content: bytes, splices: Iterable[Splice], *, newline: str) -> bytes:
    r"""Return `content` with every splice applied.

    Args:
        content: the original bytes, UTF-8.
        splices: replacements that do not overlap; insertions at one place keep their order.
        newline: what ``\n`` in the inserted texts is written as.
    """
    parts: list[bytes] = []
    position = 0
    for change in sorted(splices, key=lambda change: change.start):
        parts += [content[position : change.start], change.text.replace("\n", newline).encode()]
        position = change.end
    return b"".join([*parts, content[position:]])
