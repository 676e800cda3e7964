"""Changed inputs: a wheel, and its overlay here → the inputs that differ from the wheel's.

The wheel itself states the digest of its overlay, its upstream and its version of hatchling. The statement beside it,
if it names these very bytes, states the rest, and the digest of each file of the overlay.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.overlay.inputs import Input
from npu_overlays.pipeline.build_version import INPUT_NAMES, wheel_inputs
from npu_overlays.pipeline.preparation import Prepared
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.statement import inputs_of, material, sha256, statements
from npu_overlays.wheels.wheel_check import is_patched
from npu_overlays.wheels.wheel_reader import WheelContents
from npu_summary.changes import Changes

# In the order of a report.
_NAMES = {"upstream": "upstream's bytes", **INPUT_NAMES, "zlib": "zlib"}


@dataclass(frozen=True, kw_only=True)
class OtherInput:
    """One input of a wheel that differs here."""

    name: str  # what it is
    then: str  # what it was; empty where there was none
    here: str  # what it is here; likewise


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """The inputs in a statement, and the overlay's files."""

    used: dict[str, str]
    inputs: tuple[Input, ...]


def other_inputs(wheel: WheelContents, prepared: Prepared) -> tuple[OtherInput, ...]:
    """Return the inputs of a wheel that differ here, as far as they are known.

    Args:
        wheel: the wheel, whose statement may lie beside it.
        prepared: the result of its overlay here.
    """
    stated = next(_statements(wheel), None)
    then = {**_of_wheel(wheel), **(stated.used if stated else {})}
    here = {
        **wheel_inputs(prepared.loaded, prepared.content.digest),
        "upstream": _upstream(prepared.record),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
    }
    found = []
    for key, name in _NAMES.items():
        if key in then and then[key] != here[key]:
            found.append(OtherInput(name=name, then=then[key], here=here[key]))
    if stated:
        found += _files(stated.inputs, prepared.content.inputs)
    return tuple(found)


def _files(then: tuple[Input, ...], here: tuple[Input, ...]) -> Iterator[OtherInput]:
    """Yield the files of an overlay that differ."""
    were, are = {one.name: _digest_line(one) for one in then}, {one.name: _digest_line(one) for one in here}
    for name in sorted(were.keys() | are.keys()):
        if were.get(name) != are.get(name):
            yield OtherInput(name=f"file {name}", then=were.get(name, ""), here=are.get(name, ""))


def _digest_line(one: Input) -> str:
    return f"{one.sha256}{', executable' if one.executable else ''}"


def _of_wheel(wheel: WheelContents) -> dict[str, str]:
    """Return the inputs that a wheel itself states."""
    header = wheel.header
    said = {"hatchling": str(header["Generator"]).removeprefix("hatchling ")}
    if not is_patched(wheel):
        return said
    record = read_record(wheel.file)
    return {**said, "overlay": record["overlay"]["sha256"], "upstream": _upstream(record)}


def _upstream(record: Changes) -> str:
    named = material(record["upstream"])
    return " ".join(str(part) for part in (named.get("uri") or named["name"], *named["digest"].values()))


def _statements(wheel: WheelContents) -> Iterator[_Stated]:
    """Yield the content of each statement beside a wheel that names these very bytes."""
    digest = sha256(wheel.file)
    for file in statements(wheel.file):
        try:
            value = json.loads(file.read_bytes())
            named = [one["digest"]["sha256"] for one in value["subject"]]
            definition, details = value["predicate"]["buildDefinition"], value["predicate"]["runDetails"]
            inputs = inputs_of(definition["resolvedDependencies"])
            used = {**definition["internalParameters"], "zlib": details["builder"]["version"]["zlib"]}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # `verify-wheel` reports it
        if digest in named:
            yield _Stated(used={key: str(said) for key, said in used.items()}, inputs=inputs)
