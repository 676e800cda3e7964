"""Reproduction: a wheel, and the overlays on disk → the same wheel built again, and every difference.

The wheel itself names its overlay, its upstream source and its build. A statement beside it shows which inputs differ.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.utils import canonicalize_name

from npu_overlays.errors import ConfigError, Problem
from npu_overlays.overlay.overlay_folders import find_overlay, overlay_folders, readable
from npu_overlays.overlay.project import Overlay, source_kind
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loader
from npu_overlays.pipeline.preparation import prepare
from npu_overlays.progress import about, step
from npu_overlays.sources.acquisition import sources_of
from npu_overlays.wheels.changed_inputs import OtherInput, other_inputs
from npu_overlays.wheels.comparison import MemberDifference, differences
from npu_overlays.wheels.hatchling_archives import pack_companion, pack_wheel
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.wheel_check import is_patched
from npu_overlays.wheels.wheel_reader import WheelContents, not_ours, read_wheel
from npu_summary.versions import local_parts


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
