"""Unused bounds: the layers of a pin, and the other pins on them → the items for versions that no pin has."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from packaging.version import Version

from npu_overlays.contracts.lockfile import Lock, load_lock
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.layer_content import read_layers
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Layer, Overlay


def unused_bounds(overlay: Overlay, lock_of: Callable[[Overlay], Lock] = load_lock) -> Iterator[Problem]:
    """Yield a problem for each item that applies to no pin, of the pin itself and of layers beside it.

    A layer elsewhere has other people's pins. If a pin is not locked, its version is unknown.

    Args:
        overlay: the pin.
        lock_of: gives the lock of a pin; may raise `ConfigError`.
    """
    for layer in overlay.chain:
        bounded = list(read_layers([layer]).bounded())
        versions = _versions(layer, overlay, lock_of) if bounded else []
        for _, where, bounds in bounded:
            if versions and not any(bounds.hold(Version(version)) for version in versions):
                what = f"is {bounds}, and no pin on {layer.name} has such a version ({', '.join(versions)})"
                fix = "mend the version, delete it, or add the pin it is for"
                yield Problem(where=where, what=what, fix=fix)


def _versions(layer: Layer, overlay: Overlay, lock_of: Callable[[Overlay], Lock]) -> list[str]:
    """Return upstream's version at every pin on a layer; none if one is unknown."""
    pins = [overlay]
    if layer.folder.resolve() != overlay.folder.resolve():
        if layer.folder.resolve().parent != overlay.folder.resolve().parent:
            return []
        pins += pins_on(layer, beside=overlay)
    try:
        return sorted({lock_of(pin).metadata.version for pin in pins}, key=Version)
    except OverlayError:
        return []
