"""Between: an overlay's pin and a commit that it was ported to → whether what a reason names came in that time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.sources.pin import Pin
from sampled.porting import PATCHED, UPSTREAM
from sampled.reasons import Reason


@dataclass(frozen=True, kw_only=True)
class Between:
    """What came of upstream's after the commit of a pin.

    Args:
        past: upstream's history.
        pin: of the overlay that was ported.
        commit: what it was ported to.
        trees: what `porting.port` wrote.
    """

    past: UpstreamHistory
    pin: Pin
    commit: str
    trees: Path

    def holds(self, reason: Reason) -> bool:
        """Return whether a reason's commit came since, or its file did, and the port leaves that as it is."""
        if reason.added:
            return self._is_new(reason.added)
        had, has = (self.past.is_ancestor(reason.since, commit) for commit in (self.pin.commit, self.commit))
        return has and not had

    def _is_new(self, path: str) -> bool:
        upstream, patched = (self.trees / tree / self.pin.place(path) for tree in (UPSTREAM, PATCHED))
        if not upstream.is_file() or path in self.past.entries(self.pin.commit):
            return False
        return patched.is_file() and patched.read_bytes() == upstream.read_bytes()
