"""Delta debugging: a set of items that fails together → a smallest subset that still does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def smallest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a part of the items that fails, and of which no single one can be left out.

    Args:
        items: all of them, which fail together; without any of them nothing fails.
        fails: returns whether a part fails, in the order of `items`; never asked for none of them.
    """
    current, parts = list(items), 2
    while len(current) > 1:
        chunks = list(_chunks(current, parts))
        rests = [[one for one in current if one not in chunk] for chunk in chunks] if parts > 2 else []  # noqa: PLR2004  # of two parts, each is the other's rest
        found = next((part for part in (*chunks, *rests) if fails(part)), None)
        if found is not None:
            parts = 2 if found in chunks else max(parts - 1, 2)
            current = found
        elif parts >= len(current):
            break
        else:
            parts = min(2 * parts, len(current))
    return current


def _chunks(items: Sequence[T], parts: int) -> Iterator[list[T]]:
    start = 0
    for number in range(parts):
        end = start + (len(items) - start) // (parts - number)
        yield list(items[start:end])
        start = end
