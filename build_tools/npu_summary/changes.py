"""Changes: the bytes of ``changes.json`` → its fields, all of them there and of their types.

The classes describe the files in one place: code that writes or reads them gets typed dictionaries, and `parse` checks
a file against the same annotations, so that a damaged file is refused with a reason. ``summary.schema.json`` beside the
project's documents explains the fields.
"""

from __future__ import annotations

import json
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypedDict

    from typing_extensions import NotRequired
else:
    TypedDict = object  # importing `typing` takes longer than a summary may


class Reason(TypedDict):
    """What the overlay said, and why."""

    operation: str
    why: str
    forwarded: str
    drop_when: str
    overlay: str


class Change(Reason):
    """One change of a class, a module or a file."""

    action: str
    kind: str
    name: str
    line: int | None
    where: NotRequired[str]
    affects: NotRequired[str]
    form: NotRequired[str]
    also: NotRequired[list[Reason]]


class ClassChange(TypedDict):
    """A changed class; one that came or went as a whole has a reason of its own."""

    action: str
    name: str
    changes: list[Change]
    line: NotRequired[int | None]
    operation: NotRequired[str]
    why: NotRequired[str]
    forwarded: NotRequired[str]
    drop_when: NotRequired[str]
    overlay: NotRequired[str]
    also: NotRequired[list[Reason]]


class FileChange(TypedDict):
    """A changed file; ``before`` and ``after`` are SHA-256 digests."""

    path: str
    installed: str
    action: str
    before: str | None
    after: str | None
    class_changes: list[ClassChange]
    module_changes: list[Change]


class NotApplied(TypedDict):
    """An operation on a file which the upstream source lacks."""

    path: str
    symbol: str
    operation: str
    why: str


class Assigned(TypedDict):
    """What upstream's code assigns at run time: ``module:symbol``, each, with ``*`` for any characters."""

    when: str
    what: list[str]
    why: str
    overlay: str


class Distribution(TypedDict):
    """Name and version, as in the wheel's metadata."""

    name: str
    version: str


class BuiltFrom(TypedDict):
    """Where the bytes came from: ``git``, or the ``archive`` of that name and digest."""

    kind: str
    archive: NotRequired[str]
    sha256: NotRequired[str]


class Upstream(TypedDict):
    """The pinned upstream."""

    project: str
    version: str
    repository: str
    commit: str
    tag: str
    source: BuiltFrom
    compared: bool
    missing: list[str]


class Overlay(TypedDict):
    """The overlay merged in."""

    name: str
    revision: int
    layers: list[str]
    sha256: str


class Pair(TypedDict):
    """A patched distribution that this one was made for."""

    distribution: str
    version: str
    overlay: str
    revision: int
    builds: list[str]


class Changes(TypedDict):
    """All of ``changes.json``."""

    schema: int
    distribution: Distribution
    purpose: str
    upstream: Upstream
    overlay: Overlay
    requires: list[str]
    pairs: list[Pair]
    companion: str
    not_built: list[str]
    files: list[FileChange]
    not_applied: list[NotApplied]
    assigned: NotRequired[list[Assigned]]


class Manifest(TypedDict):
    """All of ``manifest.json``: the SHA-256 digest of every file of the wheel, by its place."""

    schema: int
    distribution: Distribution
    files: dict[str, str]


SCHEMA = 1  # of both files
NPU = "NPU"  # the purpose of wheels that are made for NPUs
# Files that an installer puts outside the library folder have places below this, then ``scripts`` or ``data``.
SCHEMES = ".data"

_PLAIN = {"str": str, "int": int, "bool": bool}
_WORDS = {"str": "a string", "int": "an integer", "bool": "true or false"}
_ABSENT = object()


class Unreadable(ValueError):  # noqa: N818  # a property of the file; raised for no mistake of the caller
    """The bytes are not a file this code understands; the message says why."""


def parse(data: bytes) -> Changes:
    """Read one ``changes.json``; fields that this code does not know are kept.

    Raises:
        Unreadable: not JSON, of another schema version, or a field is missing or of a wrong type.
    """
    result: Changes = _read(data, "Changes")
    return result


def parse_manifest(data: bytes) -> Manifest:
    """Read one ``manifest.json``; raises `Unreadable` as `parse` does."""
    result: Manifest = _read(data, "Manifest")
    return result


def _read(data: bytes, kind: str) -> Any:  # of that kind
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON ({error})") from error
    version = value.get("schema") if isinstance(value, dict) else None
    if isinstance(version, int) and version != SCHEMA:
        raise Unreadable(f"its schema version is {version}, this code reads {SCHEMA}")
    if misfit := _misfit(value, kind):
        raise Unreadable(f"the file{misfit}" if misfit.startswith(" ") else misfit.removeprefix("."))
    return value


def _misfit(value: object, kind: str) -> str:
    """Return where a value first differs from an annotation, and how; nothing where it does not."""
    if type(value) in _types(kind):
        return ""
    if words := _WORDS.get(kind.partition(" | ")[0]):
        return f" must be {words}"
    if kind.startswith("list["):
        return _misfit_of_list(value, kind[5:-1])
    if not isinstance(value, dict):
        return " must be an object"
    if kind == "dict[str, str]":
        return next((f"[{key!r}] must be a string" for key, item in value.items() if type(item) is not str), "")
    return _misfit_of_record(value, kind)


def _misfit_of_list(value: object, kind: str) -> str:
    if not isinstance(value, list):
        return " must be a list"
    misfits = ((number, _misfit(item, kind)) for number, item in enumerate(value))
    return next((f"[{number}]{misfit}" for number, misfit in misfits if misfit), "")


def _misfit_of_record(value: dict[str, object], kind: str) -> str:
    for name, field, types in _fields(kind):
        if type(value.get(name, _ABSENT)) in types:  # of thousands of values nearly all are as they should
            continue
        if name not in value:
            return f" has no `{name}`"
        if misfit := _misfit(value[name], field):
            return f".{name}{misfit}"
    return ""


@cache
def _fields(kind: str) -> list[tuple[str, str, tuple[type, ...]]]:
    """Return the fields of one of the classes above, each with its annotation and the types that fit it as they are."""
    annotations: dict[str, str] = {}
    for one in globals()[kind].__mro__[-2::-1]:
        annotations.update(one.__annotations__)
    fields = []
    for name, text in annotations.items():
        is_optional = text.startswith("NotRequired[")
        field = text[12:-1] if is_optional else text
        fields.append((name, field, (*_types(field), type(_ABSENT)) if is_optional else _types(field)))
    return fields


@cache
def _types(kind: str) -> tuple[type, ...]:
    """Return the types whose every value fits an annotation."""
    plain, _, none = kind.partition(" | ")
    return (_PLAIN[plain], *([type(None)] if none else [])) if plain in _PLAIN else ()
