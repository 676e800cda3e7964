"""Renaming: a definition that goes as a whole → the operations on it of which the text stands under another name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence

from npu_overlays.overlay.operations import Operation
from npu_overlays.refreshing.differing import says, text
from npu_overlays.refreshing.proposing import only
from npu_overlays.syntax.definitions import Definition
from npu_overlays.syntax.symbols import Module

# So much of its lines something shares with what it was under another name, as git has it.
ALIKE = 0.5


def outliving(whole: str, operations: Sequence[Operation], now: Module, wanted: Module) -> tuple[Operation, ...]:
    """Return the operations on a definition that goes, and on its members, of which what they give is still wanted.

    All are, where the whole stands under another name; else those whose own text stands elsewhere.

    Args:
        whole: the qualified name of what goes.
        operations: those on its module.
        now: the module as they give it.
        wanted: the module as it is to be.
    """
    inside = tuple(one for one in operations if f"{one.symbol}.".startswith(f"{whole}."))
    new = list(_new(now, wanted))
    old = only(now, whole)
    if old and any(one.kind == old.kind and likeness(text(now, old), text(wanted, one)) >= ALIKE for one in new):
        return inside
    said = {says(one) for one in new}
    return tuple(one for one in inside if (own := only(now, one.symbol)) and says(own) in said)


def likeness(one: str | bytes, other: str | bytes) -> float:
    """Return what share of their lines two texts have in common; none where there is nothing in them."""
    if not one.strip() or not other.strip():
        return 0.0
    return difflib.SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False).ratio()


def _new(now: Module, wanted: Module) -> Iterator[Definition]:
    """Yield what the wanted module defines that does not stand there under that name by now."""
    for name, definitions in wanted.definitions.items():
        known = {says(one) for one in now.definitions.get(name, ())}
        yield from (one for one in definitions if says(one) not in known)
