"""Reproduction: a wheel, and the overlays at hand → the same wheel made again, and where that is not the same.

All that is needed to make it again is in the wheel: the name of its overlay, where upstream's bytes came from, which
build it is. Where its statement lies beside it, that says which inputs were others.
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
from npu_overlays.wheels.comparison import Difference, differences
from npu_overlays.wheels.contents import WheelContents, not_ours, read_wheel
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.origin import OtherInput, other_inputs
from npu_overlays.wheels.packing import pack_companion, pack_wheel
from npu_overlays.wheels.verification import is_patched
from npu_summary.versions import local_parts


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A wheel made again.

    Args:
        wheel: the file it was to be.
        overlay: what it was made of here.
        made: the bytes made here.
        name: the name they have here, the version in it.
        inputs: what it was made of that is another here; empty where the bytes are the same.
        differences: where the bytes differ, of the name first.
    """

    wheel: Path
    overlay: Overlay
    made: bytes
    name: str
    inputs: tuple[OtherInput, ...]
    differences: tuple[Difference, ...]


def reproduce(file: Path, root: Path, choice: Choice, overlay: Overlay | None = None) -> Reproduction:
    """Make a wheel again.

    Args:
        file: a patched wheel, or a companion.
        root: the folder of the overlays at hand.
        choice: of which clones commits are taken; what kind of source it is, is in the wheel.
        overlay: the one to make it of; where there is none, the one of the name that the wheel says.

    Raises:
        OverlayError: it is no wheel of ours, the overlay is not at hand, or cannot be built.
    """
    wheel = read_wheel(file)
    mode = source_kind(wheel.version)
    if mode is None:
        raise not_ours(file, f"has the version {wheel.version}, which does not say of what it was made")
    overlay = _as_then(overlay or _overlay(wheel, root), wheel)
    with about(overlay.name), tempfile.TemporaryDirectory(prefix="npu-overlays-again-") as folder:
        loaded = Loader([overlay], replace(choice, mode=mode)).load(overlay)
        build = local_parts(wheel.version)["build"]
        # Of another revision it is called otherwise here; of the same one, only bytes may differ.
        prepared = prepare(replace(loaded, build=build) if _revision(build) == overlay.revision else loaded)
        step(f"making {file.name} again")
        made = (pack_wheel if is_patched(wheel) else pack_companion)(prepared, Path(folder))
        content = made.read_bytes()
        found = tuple(_differing(file, made.name, content))
        inputs = other_inputs(wheel, prepared) if found else ()
    return Reproduction(wheel=file, overlay=overlay, made=content, name=made.name, inputs=inputs, differences=found)


def _overlay(wheel: WheelContents, root: Path) -> Overlay:
    """Return the overlay at hand that a wheel was made of; raises `ConfigError` where there is none."""
    if not is_patched(wheel):
        return _of_companion(wheel, root)
    name = read_record(wheel.file)["overlay"]["name"]
    # Whoever made the wheel has written the name: it is compared, and leads nowhere.
    if name not in [folder.name for folder in overlay_folders(root)]:
        raise _not_at_hand(wheel, f"was made of the overlay {name}, which is not in {root}")
    return find_overlay(root, name)


def _of_companion(wheel: WheelContents, root: Path) -> Overlay:
    """Return the overlay of a companion: the one whose has the same version, but for the build."""
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
    """Return an overlay that pins only the archive a wheel says it was made from, where it was made from one."""
    kept = tuple(one for one in overlay.pin.archives if wheel.version.endswith(f".a{one.sha256[:7]}"))
    return replace(overlay, pin=replace(overlay.pin, archives=kept)) if kept else overlay


def _revision(build: str) -> int:
    return int(build.partition(".")[0])


def _differing(file: Path, name: str, made: bytes) -> Iterator[Difference]:
    if file.name != name:
        yield Difference(path="", how=f"it is called {file.name}, here {name}")
    yield from differences(file.read_bytes(), made)
