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
    if file["action"] not in ("added", "deleted"):
        return file
    functions = [change for change in file["module_changes"] if change["kind"] in _DEFINED]
    classes: list[ClassChange] = [{**entry, "changes": []} for entry in file["class_changes"]]
    return {**file, "module_changes": [_whole(file), *functions], "class_changes": classes}


def entries(file: FileChange) -> Iterator[Change]:
    """Yield each change that is shown of a file, classes that came or went and all that lies in one among them."""
    shown = outline(file)
    yield from model.module_changes(shown)
    for entry in shown["class_changes"]:
        if entry["action"] != "updated" or not entry["changes"]:
            whole: Change = {**entry, "kind": "class"}  # type: ignore[typeddict-unknown-key]  # which has no changes inside
            yield whole
        for change in entry["changes"]:
            yield {**change, "name": f"{entry['name']}.{change['name']}"}


def count(file: FileChange) -> int:
    """Return how many changes are shown of a file."""
    return sum(1 for _ in entries(file))


def manner(change: Change) -> str:
    """Return ``wrapped`` or ``edited`` where upstream's text still has a part in a replaced symbol, else nothing."""
    word = change.get("operation", "") if change["action"] == "replaced" else change["action"]
    return word if word in ("wrapped", "edited") else ""


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
