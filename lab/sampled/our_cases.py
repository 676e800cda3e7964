"""Our cases: a sample and the port there → how our own cases of verl end over it, judged by how they ended before."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from environments import Installations, unpack_upstream
from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.sources.pin import Pin, clone_variable
from sampled.known_failures import REASONS, Reason
from sampled.ported_overlay import Ported
from sampled.samples import Range, Sample
from sampled.verdict import Ours, judge
from verl_cases import ALONE, Endings, case_endings, install_beside
from verl_stacks import stack_of
from verl_tests import PATCHED, UPSTREAM

_MADE: dict[Path, Endings] = {}


@dataclass(frozen=True, kw_only=True)
class Between:
    """What came of upstream's after the commit of a pin.

    Args:
        past: upstream's history.
        pin: of the overlay that was ported.
        commit: what it was ported to.
        trees: what `ported_overlay.port` wrote.
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


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Where our cases are run.

    Args:
        folder: for what is installed.
        overlays: the folder of overlays.
        clones: where histories are, as `samples.samples` chooses them.
        ranks: whether the actor's cases on two ranks are run as well.
    """

    folder: Path
    overlays: Path
    clones: Mapping[str, Path]
    ranks: bool

    def tried(self, sample: Sample, ported: Ported, folder: Path) -> Ours:
        """Return what the cases for the overlay that was ported say of the port.

        Args:
            sample: the commit.
            ported: the verdicts on the overlay there.
            folder: what `ported_overlay.port` wrote.

        Raises:
            Unavailable: what is needed cannot be had here.
        """
        one = sample.range
        pin = find_overlay(self.overlays, one.overlay).pin
        past = UpstreamHistory(repository=Path(self.clones[clone_variable(pin.project)]))
        between = Between(past=past, pin=pin, commit=sample.commit.id, trees=folder)
        before = self._of_origin(one)
        after = self._endings(one, folder / "overlays" / ported.name, folder / UPSTREAM, folder / "ours")
        return judge(before, after, REASONS, ported, between.holds)

    def _of_origin(self, one: Range) -> Endings:
        """Return how they end over the overlay that is ported, in the same environment; made once."""
        folder = self.folder / f"{one.overlay}-with-{one.stack}"
        if folder not in _MADE:
            unpack_upstream(one.overlay, folder / UPSTREAM)
            _MADE[folder] = self._endings(one, self.overlays / one.overlay, folder / UPSTREAM, folder)
        return _MADE[folder]

    def _endings(self, wanted: Range, overlay: Path, upstream: Path, folder: Path) -> Endings:
        wheels = _built(overlay, folder / "wheels")
        patched, reference = install_beside(
            stack_of(wanted.stack), wheels, upstream, Installations(self.folder), folder / "installed"
        )
        options = () if self.ranks else ALONE
        return case_endings(stack_of(wanted.overlay).processes, patched, reference, folder, *options)


def _built(overlay: Path, folder: Path) -> list[Path]:
    command = (sys.executable, "-m", "npu_overlays", "build", str(overlay), "--out", str(folder))
    subprocess.run(command, capture_output=True, text=True, check=True)
    return sorted(folder.glob("*.whl"))
