"""Outline: the changes of a file → what a person is shown of it.

A file that came or went as a whole is one line with its reason, then its classes and functions: what it imports,
assigns and holds inside its classes, whoever cares reads in the diff. JSON and YAML list everything.
"""

from __future__ import annotations

from . import changes as model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .changes import Change, ClassChange, FileChange, Ledger

_DEFINED = ("method", "class")
# By these a file comes or goes as a whole; another one is of a part of it.
_WHOLE = ("file", "patch", "deleted")


def outline(file: FileChange) -> FileChange:
    """Return a file with the changes that are shown of it."""
    if file["action"] not in {"added", "deleted"}:
        return file
    whole = _whole(file)
    defined = (change for change in file["module_changes"] if change["kind"] in _DEFINED)
    functions: list[Change] = [
        {"action": one["action"], "kind": one["kind"], "name": one["name"]} if _same(one, whole) else one
        for one in defined
    ]
    classes: list[ClassChange] = [
        {"action": one["action"], "name": one["name"], "changes": []} if _same(one, whole) else {**one, "changes": []}
        for one in file["class_changes"]
    ]
    return {**file, "module_changes": [whole, *functions], "class_changes": classes}


def count(file: FileChange) -> int:
    """Return how many changes are shown of a file; a class that came or went counts as one."""
    shown = outline(file)
    return len(model.module_changes(shown)) + sum(len(entry["changes"]) or 1 for entry in shown["class_changes"])


def manner(change: Change) -> str:
    """Return ``wrapped`` or ``edited`` where upstream's text still has a part in a replaced symbol, else nothing."""
    word = change.get("operation", "") if change["action"] == "replaced" else change["action"]
    return word if word in {"wrapped", "edited"} else ""


def _whole(file: FileChange) -> Change:
    """Return the change of the whole file, with the reason for which that was done."""
    listed = next((change for change in file["module_changes"] if change["kind"] == "file"), None)
    if listed:
        return listed
    whole: Change = {"action": file["action"], "kind": "file", "name": file["path"].rpartition("/")[2]}
    reasoned = next((part for part in _parts(file) if part.get("operation", "") in _WHOLE), None)
    if reasoned:
        for field, value in model.reasons(reasoned):
            whole[field] = value
        whole["also"] = reasoned.get("also", [])
    return whole


def _parts(file: FileChange) -> Iterator[Ledger]:
    yield from file["module_changes"]
    for entry in file["class_changes"]:
        yield entry
        yield from entry["changes"]


def _same(part: Ledger, whole: Change) -> bool:
    return model.joined_reasons(part) == model.joined_reasons(whole)
