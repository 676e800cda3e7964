"""Authorship: which bytes of a patched file are upstream's, and which operation wrote the others."""

from __future__ import annotations

import difflib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from npu_overlays.model.encodings import as_utf8
from npu_overlays.model.splices import Splice, in_order
from npu_overlays.model.syntax import line_starts


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """Bytes of a patched file, from `start` to `end`."""

    start: int  # the first of them
    end: int  # the one behind them
    origin: int | None  # where they start in upstream's file; None where the overlay wrote them
    where: str = ""  # who wrote them, as `Splice.where` names it


@dataclass(frozen=True)
class Authorship:
    """The author of every byte of a patched file, in order; the file is UTF-8 without a byte order mark."""

    stretches: tuple[Stretch, ...]

    @cached_property
    def _starts(self) -> list[int]:
        return [stretch.start for stretch in self.stretches]

    def at(self, offset: int) -> Stretch:
        """Return the stretch that holds a byte."""
        number = bisect_right(self._starts, offset) - 1
        return self.stretches[number] if number >= 0 else Stretch(start=0, end=0, origin=None)

    def between(self, start: int, end: int) -> tuple[Stretch, ...]:
        """Return the stretches that hold a byte from `start` to `end`."""
        first = max(bisect_right(self._starts, start) - 1, 0)
        return self.stretches[first : bisect_left(self._starts, end)]

    def origin(self, offset: int) -> int | None:
        """Return a byte's offset in upstream's file; None if the overlay wrote it."""
        stretch = self.at(offset)
        return None if stretch.origin is None else stretch.origin + offset - stretch.start

    def behind(self, earlier: Authorship) -> Authorship:
        """Return the authorship if this one's "upstream" has itself the authorship `earlier`."""
        return Authorship(tuple(chain.from_iterable(_stretches_behind(one, earlier) for one in self.stretches)))


def kept(content: bytes) -> Authorship:
    """Return the authorship of an unchanged upstream file."""
    return Authorship((Stretch(start=0, end=len(as_utf8(content)), origin=0),))


def written(content: bytes, where: str) -> Authorship:
    """Return the authorship of an added file."""
    return Authorship((Stretch(start=0, end=len(as_utf8(content)), origin=None, where=where),))


def spliced(content: bytes, splices: Iterable[Splice], *, newline: str) -> Authorship:
    """Return the authorship of the result of `splices.splice` for the same arguments."""
    found: list[Stretch] = []
    position = made = 0
    for change in in_order(splices):
        length = change.start - position
        found.append(Stretch(start=made, end=made + length, origin=position))
        made += length
        length = len(change.text.replace("\n", newline).encode())
        found.append(Stretch(start=made, end=made + length, origin=None, where=change.where))
        made, position = made + length, change.end
    found.append(Stretch(start=made, end=made + len(content) - position, origin=position))
    return _without_empty(found)


def by_lines(before: bytes, after: bytes, where: str) -> Authorship:
    """Return the authorship of a file that a patch changed: the patch wrote every line that upstream lacks."""
    old, new = as_utf8(before).splitlines(keepends=True), as_utf8(after).splitlines(keepends=True)
    old_starts, new_starts = line_starts(old), line_starts(new)
    found: list[Stretch] = []
    for tag, first, _, start, end in difflib.SequenceMatcher(None, old, new).get_opcodes():
        origin = old_starts[first] if tag == "equal" else None
        found.append(Stretch(start=new_starts[start], end=new_starts[end], origin=origin, where=where))
    return _without_empty(found)


def _without_empty(stretches: Iterable[Stretch]) -> Authorship:
    return Authorship(tuple(one for one in stretches if one.end > one.start))


def line_at(content: bytes, offset: int) -> int:
    """Return the 1-based line of a byte."""
    return content.count(b"\n", 0, offset) + 1


def _stretches_behind(stretch: Stretch, earlier: Authorship) -> Iterator[Stretch]:
    if stretch.origin is None:
        yield stretch
        return
    shift = stretch.start - stretch.origin
    last = stretch.origin + stretch.end - stretch.start
    for part in earlier.stretches:
        start, end = max(part.start, stretch.origin), min(part.end, last)
        if start < end:
            origin = None if part.origin is None else part.origin + start - part.start
            yield Stretch(start=start + shift, end=end + shift, origin=origin, where=part.where)
