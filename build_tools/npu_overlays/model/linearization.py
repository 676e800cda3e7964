"""Linearization: lines of the bases of a class → that class's own, as Python merges them (C3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from npu_overlays.model.symbols import Symbol

Class: TypeAlias = Symbol | str
Line: TypeAlias = Sequence[Class]


def linearized(lines: Sequence[Line], bases: Line, is_opaque: Callable[[Class], bool]) -> tuple[list[Class], bool]:
    """Return what Python makes of the lines of several bases, and whether it surely does.

    Where Python refuses them, the first ones come first, and that is not sure. Nor is the order of classes of the tree
    where it hangs on whether one class of another distribution derives from another.

    Args:
        lines: of each base, itself in front.
        bases: in the order in which they are stated.
        is_opaque: returns whether the bases of a class are not known.
    """
    pending: list[Line] = [*lines, bases]
    found: list[Class] = []
    sure = True
    while heads := [line[0] for line in pending if line]:
        behind = {one for line in pending for one in line[1:]}
        free = [one for one in heads if one not in behind]
        first = (free or heads)[0]
        sure = sure and bool(free) and not _hangs(first, pending[:-1], is_opaque)
        found.append(first)
        pending = [[one for one in line if one != first] for line in pending]
    return found, sure


def _hangs(first: Class, lines: Sequence[Line], is_opaque: Callable[[Class], bool]) -> bool:
    """Return whether another class may derive from the one that comes next, and have to come before it."""
    if isinstance(first, Symbol):
        return False
    ahead = any(line[:1] == [first] and any(isinstance(one, Symbol) for one in line) for line in lines)
    beside = [one for line in lines if first not in line for one in line]
    return ahead and any(map(is_opaque, beside))
