"""Baselines: the layers of an overlay → the locks of the pins that their operations were written for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from npu_overlays.contracts.contracts import Contract
from npu_overlays.contracts.lockfile import Lock, load_lock
from npu_overlays.errors import OverlayError
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.inputs import LOCK_FILE
from npu_overlays.overlay.overlay_folders import pins_on
from npu_overlays.overlay.project import Overlay

Key = tuple[str, ...]


def key_of(entry: Contract) -> Key:
    """Return the key by which contracts of one operation on different pins match."""
    return (*entry.place, entry.operation)


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """The contracts of another pin, for which operations were written."""

    name: str  # what it is called in messages
    version: Version | None  # upstream's; None for an earlier pin's lock in the same folder: all was written for it
    lock: Lock

    def holds(self, bounds: Bounds) -> bool:
        """Return whether an item with these bounds applies there."""
        return self.version is None or bounds.hold(self.version)

    def contract(self, key: Key) -> Contract | None:
        """Return an operation's contract there."""
        return next((entry for entry in self.lock.contracts if key_of(entry) == key), None)

    def of_patch(self, name: str) -> list[Contract]:
        """Return the symbols that a patch changed there."""
        return [entry for entry in self.lock.contracts if entry.patch == name]


@dataclass(frozen=True, kw_only=True)
class Baselines:
    """By layer, the pins its operations were written for, nearest first, and notices about unreadable locks."""

    pins: Mapping[str, Sequence[Baseline]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()

    def at(self, layer: str, bounds: Bounds) -> list[Baseline]:
        """Return the pins, nearest first, at which an item of a layer with these bounds applies."""
        return [one for one in self.pins.get(layer, ()) if one.holds(bounds)]


def baselines_of(
    overlay: Overlay,
    lock: Lock,
    before: Lock | None,
    lock_of: Callable[[Overlay], Lock] = load_lock,
    *,
    first: bool = False,
) -> Baselines:
    """Return the baselines of each layer of a pin.

    Args:
        overlay: the pin and its layers.
        lock: its lock.
        before: the lock that this one replaces; if it was made for another pin, everything was written for that.
        lock_of: gives the lock of another pin; may raise `ConfigError`.
        first: whether the pin is locked for the first time: older than all others, it is compared with the next later.
    """
    if in_place := _of_another_pin(before, lock):
        return Baselines(pins={layer.name: in_place for layer in overlay.chain})
    version = Version(lock.metadata.version)
    pins: dict[str, list[Baseline]] = {}
    unread: dict[str, str] = {}
    for layer in overlay.layers:
        known: list[tuple[Version, Baseline]] = []
        silent: dict[str, str] = {}
        for pin in pins_on(layer, beside=overlay):
            try:
                theirs = lock_of(pin)
            except OverlayError as error:
                silent[pin.name] = _unread(overlay, pin, error.problems[0].what)
                continue
            dated = Version(theirs.metadata.version)
            known.append((dated, Baseline(name=pin.name, version=dated, lock=theirs)))
        pins[layer.name] = _nearest(known, version, also_later=first)
        unread |= silent if not known else {}
    return Baselines(pins=pins, notices=tuple(unread.values()))


def _nearest(known: list[tuple[Version, Baseline]], version: Version, *, also_later: bool) -> list[Baseline]:
    """Return pins in the order of comparison, nearest first."""
    found = sorted((pair for pair in known if pair[0] <= version), key=lambda pair: pair[0], reverse=True)
    if not found and also_later:
        found = sorted(known, key=lambda pair: pair[0])
    return [one for _, one in found]


def _unread(overlay: Overlay, pin: Overlay, why: str) -> str:
    return (
        f"{overlay.name}: what {pin.name} was written for is not known ({LOCK_FILE}: {why}), so nothing was "
        f"compared with it: run `npu-overlays lock {pin.argument}`, then `npu-overlays lock {overlay.argument}`"
    )


def _of_another_pin(before: Lock | None, lock: Lock) -> list[Baseline]:
    """Return the earlier lock of the pin's own folder, if it was made for another pin."""
    if before is None or before.commit == lock.commit:
        return []
    return [Baseline(name=f"{LOCK_FILE} of {before.commit[:7]}", version=None, lock=before)]
