"""Loader: overlays → what their folders and those of their partners say; each file is read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.contracts.lock_head import metadata_in, read_lock
from npu_overlays.contracts.pairs import PairedDistribution, pairs
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.revisions import Revision, read_revisions
from npu_overlays.overlay.source_choice import Choice, sdist_version
from npu_overlays.overlay.stack_requirements import extras_of_overlay
from npu_overlays.overlay.stacks import Stacks, load_stacks
from npu_overlays.progress import step
from npu_overlays.sources.tree import Mode
from npu_summary.versions import local_parts

if TYPE_CHECKING:
    from npu_overlays.contracts.lockfile import Lock
    from npu_overlays.contracts.metadata import UpstreamMetadata


@dataclass(frozen=True, kw_only=True)
class Locked:
    """The text of an overlay's lock."""

    overlay: Overlay
    content: bytes  # the text of its lock

    @cached_property
    def metadata(self) -> UpstreamMetadata:
        """Upstream's metadata; raises `ConfigError`."""
        return metadata_in(self.overlay, self.content)

    @cached_property
    def lock(self) -> Lock:
        """The whole lock, which only a merge needs; raises `ConfigError`."""
        from npu_overlays.contracts.lockfile import lock_in  # noqa: PLC0415  # a seventh of a build that changes nothing

        return lock_in(self.overlay, self.content)


def locked(overlay: Overlay) -> Locked:
    """Return the lock of an overlay; raises `ConfigError` if it is missing, unreadable or of another pin."""
    found = Locked(overlay=overlay, content=read_lock(overlay))
    found.metadata  # noqa: B018  # so that errors are raised on loading
    return found


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """An overlay, with everything else that is read of its folder and its partners'."""

    overlay: Overlay  # the overlay
    locked: Locked  # its lock
    partners: tuple[Overlay, ...]  # the overlays that a stack pairs it with
    # the patched distributions it is made for: those of its partners that its upstream requires
    pairs: tuple[PairedDistribution, ...]
    stacks: Stacks  # those beside its folder; some name it
    revisions: tuple[Revision, ...]  # those of it that were given out, the last one last
    mode: Mode  # which kind of source its upstream is to come from
    clone: Path | None  # a clone of the user's to take the commit from, or None
    build: str = ""  # the build of its wheels, if an sdist states it; else it follows from its files
    earlier: tuple[str, ...] = ()  # what the versions of its development builds say that lie where its wheels will

    @property
    def name(self) -> str:
        """The overlay's name."""
        return self.overlay.name

    @property
    def metadata(self) -> UpstreamMetadata:
        """Upstream's, as its lock has them."""
        return self.locked.metadata

    @property
    def lock(self) -> Lock:
        """Its whole lock; raises `ConfigError`."""
        return self.locked.lock

    @property
    def extras(self) -> dict[str, list[str]]:
        """The extras that stacks give its wheel; nothing else of a stack enters the wheel."""
        return extras_of_overlay(self.name, self.stacks)


class Loader:
    """Loads overlays that are built together, so that what they share is read once."""

    def __init__(self, overlays: Sequence[Overlay], choice: Choice) -> None:
        self.choice = choice
        self._overlays = {overlay.folder: overlay for overlay in overlays}
        self._locked: dict[Path, Locked] = {}
        self._stacks: dict[Path, Stacks] = {}

    def load(self, overlay: Overlay) -> Loaded:
        """Return an overlay with what belongs to it.

        Raises:
            ConfigError: its lock, a partner's, its revisions or the stacks are missing or wrong.
            UsageError: it is an sdist, and another kind of source is requested than its wheel is made from.
        """
        step(f"reading {overlay.name}")
        mine, partners = self._lock(overlay), self.partners(overlay)
        build = local_parts(sdist_version(overlay)).get("build", "")
        return Loaded(
            overlay=overlay,
            locked=mine,
            partners=partners,
            pairs=pairs(mine.metadata, partners, self.metadata),
            stacks=self._stacks_beside(overlay.root),
            revisions=read_revisions(overlay.folder),
            mode=self.choice.mode_for(overlay),
            clone=self.choice.clone(overlay.pin.project),
            # The development build that an sdist is of was made elsewhere, and at another time.
            build=build if "." in build else "",
        )

    def metadata(self, overlay: Overlay) -> UpstreamMetadata:
        """Return upstream's metadata in an overlay's lock; raises `ConfigError`."""
        return self._lock(overlay).metadata

    def lock(self, overlay: Overlay) -> Lock:
        """Return an overlay's lock as a whole; raises `ConfigError`."""
        return self._lock(overlay).lock

    def _lock(self, overlay: Overlay) -> Locked:
        if overlay.folder not in self._locked:
            self._locked[overlay.folder] = locked(overlay)
        return self._locked[overlay.folder]

    def partners(self, overlay: Overlay) -> tuple[Overlay, ...]:
        """Return the overlays that a stack pairs one with; raises `ConfigError`."""
        root, found = overlay.root, list[Overlay]()
        for name in self._stacks_beside(root).partners(overlay.name):
            if root / name not in self._overlays:
                self._overlays[root / name] = find_overlay(root, name)
            found.append(self._overlays[root / name])
        return tuple(found)

    def _stacks_beside(self, root: Path) -> Stacks:
        if root not in self._stacks:
            self._stacks[root] = load_stacks(root)
        return self._stacks[root]
