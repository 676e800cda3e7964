"""Making: one overlay that was read → its wheel, companion and statement in a folder, or why there are none."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.errors import OutputError, OverlayError
from npu_overlays.files import writing
from npu_overlays.overlay.inputs import inputs_digest
from npu_overlays.pipeline.build_version import wheel_inputs
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.progress import about
from npu_overlays.wheels.kits import Pair
from npu_overlays.wheels.output_folder import other_bytes
from npu_overlays.wheels.remembering import kits
from npu_overlays.wheels.results import Built, Failed, Outcome
from npu_overlays.wheels.statement import write_statement


@dataclass(frozen=True, kw_only=True)
class Task:
    """One overlay to be built.

    Args:
        loaded: the overlay, and what belongs to it.
        folder: where its files are written; None where it is only tried.
        out: where they will lie.
        replace: whether they may take the place of other bytes of their version.
        anew: whether it is merged although it was before.
    """

    loaded: Loaded
    folder: Path | None
    out: Path
    replace: bool
    anew: bool


def attempt(task: Task) -> Outcome | None:
    """Build an overlay and return what came of that; None where it was only tried, and can be built."""
    began, name = time.perf_counter(), task.loaded.name
    try:
        with about(name):
            made = kits(task.loaded, anew=task.anew)
            return _written(task, made, task.folder, began) if task.folder else None
    except OverlayError as error:
        return Failed(overlay=name, error=error, seconds=time.perf_counter() - began)


def _written(task: Task, made: Pair, folder: Path, began: float) -> Built:
    """Write the files of an overlay into `folder` and return them as they will lie in the output folder."""
    loaded, out = task.loaded, task.out
    # What was read, not what may lie there by now.
    used = wheel_inputs(loaded, inputs_digest(made.inputs))
    with writing(out, option="--out"):
        folder.mkdir()
        companion, wheel = made.companion.put_together(folder), made.wheel.put_together(folder)
        digest = write_statement(wheel, companion, made.record, used, made.inputs)
    if not task.replace:
        problems = [*other_bytes((wheel, companion), out, loaded.name, used)]
        if problems:
            raise OutputError(problems)
    return Built(
        overlay=loaded.name,
        wheel=out / wheel.name,
        companion=out / companion.name,
        sha256=digest,
        record=made.record,
        rebuilt=True,
        seconds=time.perf_counter() - began,
    )
