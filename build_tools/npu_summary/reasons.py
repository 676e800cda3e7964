"""Reasons: a change → why it was made, field by field, as one line of text each."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from .changes import Change, ClassChange, FileChange, Reason

    Field = Literal["why", "forwarded", "drop_when", "overlay"]
    Reasons = list[tuple[Field, str]]

PLAIN: tuple[Field, ...] = ("why", "forwarded", "drop_when")


def fields(files: list[FileChange]) -> tuple[Field, ...]:
    """Return which fields to show: with the layer, where more than one made the changes."""
    layers = {part["overlay"] for file in files for one in parts(file) for part in _parts_of(one) if "overlay" in part}
    return (*PLAIN, "overlay") if len(layers) > 1 else PLAIN


def parts(file: FileChange) -> Iterator[Change | ClassChange]:
    """Yield everything in a changed file that can have a reason."""
    yield from file["module_changes"]
    for entry in file["class_changes"]:
        yield entry
        yield from entry["changes"]


def _parts_of(change: Change | ClassChange) -> list[Reason | Change | ClassChange]:
    """Return what says why: the change itself, and what else had a part in it."""
    return [change, *change.get("also", [])]


def of(change: Change | ClassChange, wanted: tuple[Field, ...]) -> Reasons:
    """Return the reasons that are given, in a fixed order."""
    return [
        (field, text)
        for part in _parts_of(change)
        for field in wanted
        if (text := " ".join(part.get(field, "").split()))
    ]


def by_field(change: Change | ClassChange, wanted: tuple[Field, ...]) -> Reasons:
    """Return the same, every field once: where several things had a part in a change, their texts are joined."""
    found: dict[Field, str] = {}
    for field, text in of(change, wanted):
        found[field] = f"{found[field]}; {text}" if field in found else text
    return list(found.items())
