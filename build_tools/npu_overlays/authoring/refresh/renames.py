"""Renames: operations on a definition that goes although its code stays under another name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TypeAlias

from npu_overlays.authoring.refresh.differences import says, text
from npu_overlays.authoring.refresh.proposals import only
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.overlay.operations import Operation

# So much of its lines something shares with what it was under another name, as git has it.
ALIKE = 0.5


# A definition that is new, and its text at column 0.
New: TypeAlias = tuple[Definition, str]


def outliving(whole: str, operations: Sequence[Operation], now: Module, new: Sequence[New]) -> tuple[Operation, ...]:
    """Return the operations on a definition that goes, and on its members, of which what they give is still wanted.

    All are, where the whole stands under another name; else those whose own text stands elsewhere.

    Args:
        whole: the qualified name of what goes.
        operations: those on its module.
        now: the module as they give it.
        new: what is to stand there, or elsewhere, that does not by now.
    """
    inside = tuple(one for one in operations if f"{one.symbol}.".startswith(f"{whole}."))
    old = only(now, whole)
    if old and any(one.kind == old.kind and likeness(text(now, old), other) >= ALIKE for one, other in new):
        return inside
    said = {says(one) for one, _ in new}
    return tuple(one for one in inside if (own := only(now, one.symbol)) and says(own) in said)


def likeness(one: str | bytes, other: str | bytes) -> float:
    """Return what share of their lines two texts have in common; none where there is nothing in them."""
    if not one.strip() or not other.strip():
        return 0.0
    return difflib.SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False).ratio()


def new_in(now: Module, wanted: Module) -> list[New]:
    """Return what the wanted module defines that does not stand there under that name by now."""
    known = {name: {says(one) for one in listed} for name, listed in now.definitions.items()}
    defined = [(name, one) for name, listed in wanted.definitions.items() for one in listed]
    return [(one, text(wanted, one)) for name, one in defined if says(one) not in known.get(name, ())]
