"""Rehearsal: an overlay → all that a build does, except writing the wheel and its companion."""

from __future__ import annotations

from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.preparation import Prepared, prepare
from npu_overlays.progress import step
from npu_overlays.wheels.packing import check_tables


def rehearse(loaded: Loaded) -> Prepared:
    """Do all that a build does, except writing the wheel and its companion; raises `OverlayError`."""
    prepared = prepare(loaded)
    step(f"trying what {loaded.overlay.distribution} {prepared.version} will be")
    check_tables(prepared)
    return prepared
