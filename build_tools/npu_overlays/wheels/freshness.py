"""Freshness: an overlay and what an earlier build wrote → the wheels that need not be built again."""

from __future__ import annotations

from pathlib import Path

from npu_overlays.errors import OverlayError
from npu_overlays.overlay.inputs import input_files, inputs_digest
from npu_overlays.pipeline.build_version import wheel_inputs, wheel_version
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.upstream import acquire
from npu_overlays.progress import step
from npu_overlays.sources.acquisition import git_answers, sources_of
from npu_overlays.sources.tree import Mode
from npu_overlays.wheels.output_folder import wheels_of
from npu_overlays.wheels.statement import states


def fresh_wheels(loaded: Loaded, out: Path) -> tuple[Path, Path, str] | None:
    """Return a wheel, its companion and the wheel's sha256 of an earlier build where nothing has changed, else None."""
    overlay = loaded.overlay
    try:
        mode = _mode(loaded)
        digest = inputs_digest(input_files(overlay))
        versions = [(source, wheel_version(loaded, source, digest)) for source in sources_of(overlay.pin, mode)]
        there = [(source, files) for source, version in versions if (files := wheels_of(overlay, version, out))]
        used = wheel_inputs(loaded, digest)
        for source, files in there:
            if digest := states(*files, used):
                # From the commit is best; what an archive gave is up to date while git still has no answer.
                best = mode != "auto" or source.kind == "git" or not git_answers(overlay.pin, progress=step)
                return (*files, digest) if best else None
    except OverlayError:
        pass  # preparing it will fail for the same reason, and say so beside all the others
    return None


def _mode(loaded: Loaded) -> Mode:
    if loaded.clone is None:
        return loaded.mode
    acquire(loaded.overlay, loaded.mode, loaded.clone)  # the clone is looked at whenever it is named
    return "git"
