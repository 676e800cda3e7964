"""Locked: an overlay's lock, read once → upstream's metadata at once, and the rest on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from npu_overlays.contracts.lock_head import metadata_in, read_lock
from npu_overlays.overlay.project import Overlay

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
