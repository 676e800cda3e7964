"""Loading: overlays → what their folders and those of their partners say; each file is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.choice import Choice
from npu_overlays.installs.stacks import extras_of_overlay
from npu_overlays.lock.lockfile import Lock, load_lock
from npu_overlays.overlay.lookup import find_overlay
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks
from npu_overlays.pairing import Pair, pairs
from npu_overlays.source import Mode


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """An overlay, and all that is read of its folder and its partners' beside what changes.

    Args:
        overlay: the overlay.
        lock: its lock.
        partners: the overlays that a stack pairs it with.
        pairs: the patched distributions it is made for: those of its partners that its upstream requires.
        stacks: those beside its folder; some name it.
        mode: which kind of source its upstream is to come from.
        clone: a clone of the user's to take the commit from, or None.
    """

    overlay: Overlay
    lock: Lock
    partners: tuple[Overlay, ...]
    pairs: tuple[Pair, ...]
    stacks: Stacks
    mode: Mode
    clone: Path | None

    @property
    def name(self) -> str:
        """The overlay's name."""
        return self.overlay.name

    @property
    def extras(self) -> dict[str, list[str]]:
        """The extras that stacks give its wheel: all that enters the wheel of what they say."""
        return extras_of_overlay(self.name, self.stacks)


class Loader:
    """Loads overlays that are built together, so that what they share is read once.

    Args:
        overlays: those at hand already.
        choice: where upstreams are to come from.
    """

    def __init__(self, overlays: Sequence[Overlay], choice: Choice) -> None:
        self._choice = choice
        self._overlays = {overlay.folder: overlay for overlay in overlays}
        self._locks: dict[Path, Lock] = {}
        self._stacks: dict[Path, Stacks] = {}

    def load(self, overlay: Overlay) -> Loaded:
        """Return an overlay with what belongs to it.

        Raises:
            ConfigError: its lock, a partner's, or the stacks are missing or wrong.
            UsageError: it is an sdist, and another kind of source is asked for than its wheel is made from.
        """
        lock = self.lock(overlay)
        partners = self._partners(overlay)
        return Loaded(
            overlay=overlay,
            lock=lock,
            partners=partners,
            pairs=pairs(lock, partners, self.lock),
            stacks=self._stacks_beside(overlay.root),
            mode=self._choice.mode_for(overlay),
            clone=self._choice.clone(overlay.pin.project),
        )

    def lock(self, overlay: Overlay) -> Lock:
        """Return an overlay's lock; raises `ConfigError`."""
        if overlay.folder not in self._locks:
            self._locks[overlay.folder] = load_lock(overlay)
        return self._locks[overlay.folder]

    def _partners(self, overlay: Overlay) -> tuple[Overlay, ...]:
        root = overlay.root
        return tuple(self._partner(root, name) for name in self._stacks_beside(root).partners(overlay.name))

    def _stacks_beside(self, root: Path) -> Stacks:
        if root not in self._stacks:
            self._stacks[root] = load_stacks(root)
        return self._stacks[root]

    def _partner(self, root: Path, name: str) -> Overlay:
        if root / name not in self._overlays:
            self._overlays[root / name] = find_overlay(root, name)
        return self._overlays[root / name]
