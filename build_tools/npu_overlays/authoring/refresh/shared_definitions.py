"""Shared definitions: changes of a definition with several targets → what stays shared, and what leaves it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from npu_overlays.authoring.refresh.attempt import OperationChange
from npu_overlays.authoring.writer.merge_module_text import Written
from npu_overlays.errors import MergeError, Problem
from npu_overlays.model.code_blocks import renamed
from npu_overlays.overlay.operations import Operation


def by_place(changes: Iterable[OperationChange]) -> list[list[OperationChange]]:
    """Return changes by the statement that they change: those of one shared definition together."""
    groups: dict[object, list[OperationChange]] = {}
    for number, change in enumerate(changes):
        key = (change.known.layer, change.known.where) if change.known else number
        groups.setdefault(key, []).append(change)
    return list(groups.values())


def shared(
    operations: Sequence[Operation], known: Operation, group: Sequence[OperationChange]
) -> tuple[Written, list[Operation]]:
    """Return the change of an operation's statement, and for targets that leave a shared one, their own operations.

    `operations` are all of the overlay's, and `group` the changes of those of that statement.
    """
    everywhere = [one for one in operations if (one.layer, one.where) == (known.layer, known.where)]
    wanted = [_called(one.wanted, known.shared) if one.wanted else None for one in group]
    texts = {(one.action, one.text, one.annotation, one.edits, one.imports) if one else None for one in wanted}
    alike = len(group) == len(everywhere) and len(texts) == 1
    # A relative import is another one in every target.
    imports = wanted[0].imports if wanted[0] else ()
    means_the_same = not any(one.statement.startswith("from .") for one in imports)
    if not known.shared or (alike and means_the_same):
        return Written(known=known, wanted=wanted[0]), []
    if known.like:
        names = ", ".join(f"{one.known.path}:{one.known.symbol}" for one in group if one.known)
        what = f"changes some of the definitions like `{known.like.model}`, which have one text"
        fix = f"add to `but` what is to have its own, with the reason, and run `npu-overlays lock`: {names}"
        raise MergeError(Problem(where=known.where, what=what, fix=fix))
    gone = {(one.known.path, one.symbol) for one in group if one.known}
    stay = tuple(f"{one.path}:{one.symbol}" for one in everywhere if (one.path, one.symbol) not in gone)
    # In a file of its own, a definition has the name of its target.
    moved = [dataclasses.replace(_called(one, one.leaf), shared="") for one in wanted if one]
    return Written(known=known, wanted=None, targets=stay), moved


def _called(one: Operation, name: str) -> Operation:
    """Return an operation whose definition has the name; unchanged for values, and where no name is given."""
    if not name or not one.text or one.kind == "attribute":
        return one
    return dataclasses.replace(one, text=renamed(one.text, name))
