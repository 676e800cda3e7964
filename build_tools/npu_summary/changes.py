"""The data of one patched distribution: ``changes.json`` in, checked plain data out.

The full description, field by field, is ``summary.schema.json`` beside this
file. Here is only what the renderers rely on, so that a damaged file is
refused with a reason rather than half rendered.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypedDict

    Field = Literal["why", "forwarded", "drop_when", "layer"]

    class Reasons(TypedDict, total=False):
        """Why something was changed; every field may be absent or empty."""

        why: str
        forwarded: str
        drop_when: str
        layer: str

    class Part(Reasons, total=False):
        """Who changed it."""

        operation: str
        overlay: str

    class Ledger(Part, total=False):
        """What else had a part in it, and where it now stands."""

        line: int | None
        also: list[Part]

    class Change(Ledger):
        """One change of a class or module."""

        action: str
        kind: str
        name: str

    class ClassChange(Ledger):
        """One changed class with the changes inside it."""

        action: str
        name: str
        changes: list[Change]

    class FileChange(TypedDict):
        """One changed file; ``before`` and ``after`` are SHA-256 digests."""

        path: str
        installed: str
        action: str
        before: str | None
        after: str | None
        class_changes: list[ClassChange]
        module_changes: list[Change]

    class NotApplied(Reasons):
        """One operation on a file which the upstream source lacks."""

        path: str
        symbol: str
        operation: str

    class Distribution(TypedDict):
        """Name and version, as in the wheel's metadata."""

        name: str
        version: str

    class Upstream(TypedDict):
        """The pinned upstream (the fields rendered here)."""

        project: str
        version: str
        commit: str

    class Overlay(TypedDict):
        """The overlay merged in (the fields rendered here)."""

        name: str
        revision: int

    class Words(TypedDict, total=False):
        """What wheels of before do not say."""

        purpose: str

    class Changes(Words):
        """All of ``changes.json`` that the renderers use."""

        schema: int
        distribution: Distribution
        upstream: Upstream
        overlay: Overlay
        files: list[FileChange]
        not_applied: list[NotApplied]


SCHEMA = 1
USUAL = "NPU"  # the purpose of wheels from before they said what they are for

_REASON = {"why?": str, "forwarded?": str, "drop_when?": str, "operation?": str, "overlay?": str}
_CHANGE = {"action": str, "kind": str, "name": str, **_REASON, "also?": [_REASON]}
_CLASS = {"action": str, "name": str, "changes": [_CHANGE], **_REASON, "also?": [_REASON]}
_FILE = {"path": str, "action": str, "class_changes": [_CLASS], "module_changes": [_CHANGE]}
_SHAPE = {
    "schema": int,
    "distribution": {"name": str, "version": str},
    "upstream": {
        "project": str,
        "version": str,
        "commit": str,
        "tag?": str,
        "repository?": str,
        "source?": {"kind": str, "archive?": str, "sha256?": str},
        "missing?": [str],
    },
    "overlay": {"name": str, "revision": int, "layers?": [str]},
    "requires?": [str],
    "files": [_FILE],
    "purpose?": str,
    "not_applied": [{"path": str, "symbol": str, "operation": str, "why?": str}],
}
_TYPE_NAMES = {dict: "an object", list: "a list", str: "a string", int: "an integer"}


class Unreadable(ValueError):  # noqa: N818  # a property of the file; raised for no mistake of the caller
    """The bytes are not a ``changes.json`` this code understands; the message says why."""


def parse(data: bytes) -> Changes:
    """Read one ``changes.json``.

    Args:
        data: the file's bytes.

    Returns:
        The whole decoded object, including fields this code does not use.

    Raises:
        Unreadable: not JSON, of another schema version, or a field the renderers need is missing or of a wrong type.
    """
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON ({error})") from error
    newer = value.get("schema") if isinstance(value, dict) else None
    if isinstance(newer, int) and newer != SCHEMA:
        raise Unreadable(f"its schema version is {newer}, this code reads {SCHEMA}")
    if misfit := _misfit(value, _SHAPE, "the file"):
        raise Unreadable(misfit)
    result: Changes = value
    return result


def module_changes(file: FileChange) -> list[Change]:
    """Return the module changes of a file, the fate of the whole file included.

    A deleted file, and an added one in which nothing could be listed (data
    files), say so themselves; otherwise they would look merely touched.
    """
    listed = file["module_changes"]
    action = file["action"]
    silent = not listed and not file["class_changes"]
    told = any(change["kind"] == "file" for change in listed)
    if (action == "deleted" and not told) or (action == "added" and silent):
        whole: Change = {"action": action, "kind": "file", "name": file["path"].rpartition("/")[2]}
        return [whole, *listed]
    return listed


def class_changes(entry: ClassChange) -> list[Change]:
    """Return the changes inside a class; a deleted class says so itself, since an added one shows as its name alone."""
    if entry["action"] == "deleted" and not entry["changes"]:
        whole: Change = {"action": "deleted", "kind": "class", "name": entry["name"]}
        for field, value in reasons(entry):
            whole[field] = value
        if "also" in entry:
            whole["also"] = entry["also"]
        return [whole]
    return entry["changes"]


def shown_action(change: Change) -> str:
    """Return the action word users know: wrapped and edited symbols are *replaced* ones to them."""
    action = change["action"]
    return "replaced" if action in ("wrapped", "edited") else action


def reasons(entry: Reasons) -> list[tuple[Field, str]]:
    """Return the reasons that are given, as ``(field, one line of text)`` in a fixed order."""
    fields: tuple[Field, ...] = ("why", "forwarded", "drop_when", "layer")
    return [(field, value) for field in fields if (value := " ".join(entry.get(field, "").split()))]


def all_reasons(entry: Ledger) -> list[tuple[Field, str]]:
    """Return the reasons given for a change, and those of what else had a part in it."""
    return [pair for one in (entry, *entry.get("also", [])) for pair in reasons(one)]


def with_layers(files: list[FileChange]) -> list[FileChange]:
    """Return changed files with the layer beside the reasons of each change, where more than one layer made them."""
    named: set[str] = set()
    told = json.loads(json.dumps(files), object_hook=lambda entry: _with_layer(entry, named))
    return told if len(named) > 1 else files


def _with_layer(entry: dict[str, object], named: set[str]) -> dict[str, object]:
    layer = entry.get("overlay")
    if not isinstance(layer, str):
        return entry
    named.add(layer)
    return {**entry, "layer": layer}


def joined_reasons(entry: Ledger) -> list[tuple[Field, str]]:
    """Return all reasons, each field once: where several things had a part in a change, their texts are joined."""
    found: dict[Field, str] = {}
    for field, value in all_reasons(entry):
        found[field] = f"{found[field]}; {value}" if field in found else value
    return list(found.items())


def _misfit(value: object, shape: object, where: str) -> str:
    """Say how ``value`` differs from ``shape`` (a type, ``[item shape]`` or ``{key: shape}``); empty when it fits."""
    kind = shape if isinstance(shape, type) else type(shape)
    if not isinstance(value, kind) or isinstance(value, bool):
        return f"{where} must be {_TYPE_NAMES[kind]}"
    if isinstance(shape, list) and isinstance(value, list):
        return next(filter(None, (_misfit(item, shape[0], f"{where}[{n}]") for n, item in enumerate(value))), "")
    if isinstance(shape, dict) and isinstance(value, dict):
        return next(filter(None, (_misfit_key(value, key, item, where) for key, item in shape.items())), "")
    return ""


def _misfit_key(value: dict[str, object], key: str, shape: object, where: str) -> str:
    name = key.rstrip("?")
    if name not in value:
        return "" if name != key else f"{where} has no `{name}`"
    return _misfit(value[name], shape, name if where == "the file" else f"{where}.{name}")
