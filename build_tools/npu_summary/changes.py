"""Changes: the bytes of ``changes.json`` → its fields, all of them there and of their types.

The classes describe the files, once for all: to whoever writes or reads them they are typed dictionaries, and
`parse` compares what it reads with the same annotations, so that a damaged file is refused with a reason rather than
half shown. What the fields mean is said beside the project's documents, in ``summary.schema.json``.
"""

from __future__ import annotations

import json
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
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
    affects: NotRequired[str]
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

_PLAIN = {"str": (str, "a string"), "int": (int, "an integer"), "bool": (bool, "true or false")}


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
    if misfit := next(_misfits(value, kind, ""), None):
        raise Unreadable(misfit)
    return value


def _misfits(value: object, kind: str, where: str) -> Iterator[str]:
    """Yield how a value differs from an annotation."""
    plain, _, none = kind.partition(" | ")
    if plain in _PLAIN:
        wanted, words = _PLAIN[plain]
        if type(value) is not wanted and not (none and value is None):
            yield f"{where} must be {words}"
    elif kind.startswith("list["):
        yield from _misfits_of_list(value, kind[5:-1], where)
    elif not isinstance(value, dict):
        yield f"{where or 'the file'} must be an object"
    elif kind == "dict[str, str]":
        yield from (f"{where}[{key!r}] must be a string" for key, item in value.items() if type(item) is not str)
    else:
        yield from _misfits_of_record(value, kind, where)


def _misfits_of_list(value: object, kind: str, where: str) -> Iterator[str]:
    if not isinstance(value, list):
        yield f"{where} must be a list"
        return
    plain = _plain_type(kind)
    for number, item in enumerate(value):
        if type(item) is not plain:
            yield from _misfits(item, kind, f"{where}[{number}]")


def _misfits_of_record(value: dict[str, object], kind: str, where: str) -> Iterator[str]:
    for name, field, plain in _fields(kind):
        if plain is None or type(value.get(name)) is not plain:  # of thousands of values nearly all are as they should
            yield from _misfits_of_field(value, name, field, where)


def _misfits_of_field(value: dict[str, object], name: str, kind: str, where: str) -> Iterator[str]:
    optional = kind.startswith("NotRequired[")
    if name in value:
        yield from _misfits(value[name], kind[12:-1] if optional else kind, f"{where}.{name}".lstrip("."))
    elif not optional:
        yield f"{where or 'the file'} has no `{name}`"


@cache
def _fields(kind: str) -> list[tuple[str, str, type | None]]:
    """Return the fields of one of the classes above, each with its annotation, and with its type where it is plain."""
    classes = globals()[kind].__mro__[-2::-1]
    said = {name: text for one in classes for name, text in one.__annotations__.items()}
    return [(name, text, _plain_type(text)) for name, text in said.items()]


def _plain_type(kind: str) -> type | None:
    return _PLAIN[kind][0] if kind in _PLAIN else None
