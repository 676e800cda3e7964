"""Alignment: lines as they were, as a change makes them, and as they are now → whether they became what it makes.

As in a merge of three: between two lines that stand in all of them lies what the change made of the old ones, and what
upstream did.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

from npu_overlays.model.logical_lines import Layout

_Line = TypeVar("_Line", bound=Hashable)


@dataclass(frozen=True, kw_only=True)
class _Part(Generic[_Line]):
    """What lies between two lines that stand in all three, and which of the made ones the change has put there."""

    before: Sequence[_Line]
    made: Sequence[_Line]
    now: Sequence[_Line]
    put: Sequence[int]

    def is_made(self, holds: Callable[[_Line, _Line], bool]) -> bool:
        """Return whether each line that the change puts there stands there now, in its turn."""
        if not self.put or len(self.made) != len(self.now):
            return False
        return all(self._stands(self.made[number], self.now[number], holds) for number in self.put)

    def _stands(self, made: _Line, now: _Line, holds: Callable[[_Line, _Line], bool]) -> bool:
        return made == now or (holds(now, made) and not any(holds(line, made) for line in self.before))


def statements(layout: Layout) -> list[tuple[str, ...]]:
    """Return the words of each logical line."""
    return [tuple(layout.texts[start:end]) for start, end in pairwise([*layout.heads, len(layout.tokens)])]


def is_made(
    before: Sequence[_Line],
    made: Sequence[_Line],
    now: Sequence[_Line],
    *,
    holds: Callable[[_Line, _Line], bool] = operator.eq,
) -> bool:
    """Return whether all that a change puts in the place of lines stands in their place now.

    Where upstream changed lines beside them, too, there must be as many as the change leaves, each in its turn. Where a
    change only takes lines out, nothing stands there that could say who did it.

    Args:
        before: the lines as they were.
        made: what the change makes of them.
        now: what upstream made of them.
        holds: whether a line has another one in it, if it is not that. What had it before, too, says nothing.
    """
    changed = [part for part in _parts(before, made, now) if part.before != part.made]
    return bool(changed) and all(part.is_made(holds) for part in changed)


def _parts(before: Sequence[_Line], made: Sequence[_Line], now: Sequence[_Line]) -> Iterator[_Part[_Line]]:
    to_made, to_now = (_matched(before, other) for other in (made, now))
    kept = frozenset(to_made.values())
    shared = [(one, to_made[one], to_now[one]) for one in range(len(before)) if one in to_made and one in to_now]
    for start, end in pairwise([(-1, -1, -1), *shared, (len(before), len(made), len(now))]):
        yield _Part(
            before=before[start[0] + 1 : end[0]],
            made=made[start[1] + 1 : end[1]],
            now=now[start[2] + 1 : end[2]],
            put=[number for number in range(end[1] - start[1] - 1) if start[1] + 1 + number not in kept],
        )


def _matched(one: Sequence[_Line], other: Sequence[_Line]) -> dict[int, int]:
    blocks = difflib.SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks()
    return {block.a + number: block.b + number for block in blocks for number in range(block.size)}
