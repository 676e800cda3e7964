"""Replaced ranges: two sequences → the ranges in which they differ."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple


class ReplacedRange(NamedTuple):
    """Items `first` to `behind` of one sequence, and items `start` to `end` of another that replace them."""

    first: int
    behind: int
    start: int
    end: int


def replaced_ranges(old: Sequence[Hashable], new: Sequence[Hashable]) -> Iterator[ReplacedRange]:
    """Yield the ranges in which two sequences differ, in their order."""
    for tag, *ranges in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield ReplacedRange(*ranges)


def common(one: Sequence[object], other: Sequence[object]) -> int:
    """Return how many equal items two sequences begin with."""
    number = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        number += 1
    return number
