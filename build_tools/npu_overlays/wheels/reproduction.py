"""Reproduction: a wheel, and the overlays on disk → the same wheel built again, and every difference.

The wheel itself names its overlay, its upstream source and its build. A statement beside it shows which inputs differ.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.inputs import Input
from npu_overlays.overlay.overlay_folders import find_overlay, overlay_folders, readable
from npu_overlays.overlay.project import Overlay, source_kind
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.build_version import INPUT_NAMES, wheel_inputs
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import Prepared, prepare
from npu_overlays.progress import about, step
from npu_overlays.sources.acquisition import sources_of
from npu_overlays.wheels.comparison import MemberDifference, differences
from npu_overlays.wheels.hatchling_archives import pack_companion, pack_wheel
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.statement import MALFORMED, digests_of, inputs_of, material, sha256, statements
from npu_overlays.wheels.wheel_check import is_patched
from npu_overlays.wheels.wheel_reader import WheelContents, not_ours, read_wheel
from npu_summary.changes import Changes
from npu_summary.versions import local_parts

# In the order of a report.
_NAMES = {"upstream": "upstream's bytes", **INPUT_NAMES, "zlib": "zlib"}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A wheel made again."""

    wheel: Path  # the file it was to be
    overlay: Overlay  # what it was made of here
    made: bytes  # the bytes made here
    name: str  # the name they have here, the version in it
    inputs: tuple[OtherInput, ...]  # what it was made of that is another here; empty where the bytes are the same
    differences: tuple[MemberDifference, ...]  # where the bytes differ, of the name first


def reproduce(file: Path, root: Path, choice: Choice, overlay: Overlay | None = None) -> Reproduction:
    """Build a wheel again.

    Args:
        file: a patched wheel, or a companion.
        root: the folder of overlays.
        choice: the clones to take commits from; the kind of source is stated in the wheel.
        overlay: the overlay to build it from; if None, the one that the wheel names.

    Raises:
        OverlayError: it is no wheel of ours, the overlay does not exist, or cannot be built.
    """
    wheel = read_wheel(file)
    mode = source_kind(wheel.version)
    if mode is None:
        raise not_ours(file, f"has the version {wheel.version}, which does not say of what it was made")
    overlay = _as_then(overlay or _overlay(wheel, root), wheel)
    with about(overlay.name), tempfile.TemporaryDirectory(prefix="npu-overlays-again-") as folder:
        loaded = Loader([overlay], replace(choice, mode=mode)).load(overlay)
        build = local_parts(wheel.version)["build"]
        # Another revision gives another version here; with the same revision only bytes may differ.
        prepared = prepare(replace(loaded, build=build) if int(build.partition(".")[0]) == overlay.revision else loaded)
        step(f"making {file.name} again")
        made = (pack_wheel if is_patched(wheel) else pack_companion)(prepared, Path(folder))
        content = made.read_bytes()
        found = tuple(_differing(file, made.name, content))
        inputs = other_inputs(wheel, prepared) if found else ()
    return Reproduction(wheel=file, overlay=overlay, made=content, name=made.name, inputs=inputs, differences=found)


def _overlay(wheel: WheelContents, root: Path) -> Overlay:
    """Return the overlay that a wheel was made of; raises `ConfigError` if it is not on disk."""
    if not is_patched(wheel):
        return _of_companion(wheel, root)
    name = read_record(wheel.file)["overlay"]["name"]
    # The name comes from outside: it is compared, and never used as a path.
    if name not in [folder.name for folder in overlay_folders(root)]:
        raise _not_at_hand(wheel, f"was made of the overlay {name}, which is not in {root}")
    return find_overlay(root, name)


def _of_companion(wheel: WheelContents, root: Path) -> Overlay:
    """Return the overlay of a companion: the one whose companion has the same version, apart from the build."""
    build = local_parts(wheel.version)["build"]
    for overlay in readable(root, canonicalize_name(wheel.name)):
        upstream = Loader([overlay], Choice()).metadata(overlay).version
        if wheel.version in [overlay.version(upstream, source, build) for source in sources_of(overlay.pin)]:
            return overlay
    raise _not_at_hand(wheel, f"is of no overlay in {root}")


def _not_at_hand(wheel: WheelContents, what: str) -> ConfigError:
    fix = "take the checkout of these overlays that had it, or name its folder with --overlay"
    return ConfigError(Problem(where=str(wheel.file), what=what, fix=fix))


def _as_then(overlay: Overlay, wheel: WheelContents) -> Overlay:
    """Return an overlay that pins only the archive that a wheel was made from, if it was made from one."""
    kept = tuple(one for one in overlay.pin.archives if wheel.version.endswith(f".a{one.sha256[:7]}"))
    return replace(overlay, pin=replace(overlay.pin, archives=kept)) if kept else overlay


def _differing(file: Path, name: str, made: bytes) -> Iterator[MemberDifference]:
    if file.name != name:
        yield MemberDifference(path="", how=f"it is called {file.name}, here {name}")
    yield from differences(file.read_bytes(), made)


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
            named = digests_of(value)
            definition, details = value["predicate"]["buildDefinition"], value["predicate"]["runDetails"]
            inputs = inputs_of(definition["resolvedDependencies"])
            used = {**definition["internalParameters"], "zlib": details["builder"]["version"]["zlib"]}
        except MALFORMED:
            continue  # `verify-wheel` reports it
        if digest in named.values():
            yield _Stated(used={key: str(said) for key, said in used.items()}, inputs=inputs)
