"""Overlay build: one overlay that was read → its wheel, companion and statement, of an earlier build or in a folder."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.errors import OutputError, OverlayError
from npu_overlays.files import writing
from npu_overlays.overlay.inputs import input_files, inputs_digest
from npu_overlays.pipeline.build_version import wheel_inputs, wheel_version
from npu_overlays.pipeline.loader import Loaded
from npu_overlays.pipeline.upstream import acquire
from npu_overlays.progress import about, step
from npu_overlays.sources.acquisition import git_answers, sources_of
from npu_overlays.sources.tree import Mode
from npu_overlays.wheels.assembly import WheelPair
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.merge_cache import kits
from npu_overlays.wheels.output_folder import other_bytes, wheels_of
from npu_overlays.wheels.results import BuildOutcome, BuiltWheels, FailedBuild
from npu_overlays.wheels.statement import states, write_statement


@dataclass(frozen=True, kw_only=True)
class Task:
    """One overlay to be built."""

    loaded: Loaded  # the overlay, and what belongs to it
    folder: Path | None  # where its files are written; None where it is only tried
    out: Path  # where they will lie
    replace: bool  # whether they may take the place of other bytes of their version
    anew: bool  # whether it is merged although it was before


def attempt(task: Task) -> BuildOutcome | None:
    """Build an overlay and return the result; None if it was only tried, and can be built."""
    began, name = time.perf_counter(), task.loaded.name
    try:
        with about(name):
            made = kits(task.loaded, anew=task.anew)
            return _written(task, made, task.folder, began) if task.folder else None
    except OverlayError as error:
        return FailedBuild(overlay=name, error=error, seconds=time.perf_counter() - began)


def _written(task: Task, made: WheelPair, folder: Path, began: float) -> BuiltWheels:
    """Write the files of an overlay into `folder` and return them as they will lie in the output folder."""
    loaded, out = task.loaded, task.out
    # What was read, not what may lie there by now.
    used = wheel_inputs(loaded, inputs_digest(made.inputs))
    with writing(out, option="--out"):
        folder.mkdir()
        companion, wheel = made.companion.put_together(folder), made.wheel.put_together(folder)
        digest = write_statement(wheel, companion, made.record, used, made.inputs)
    if not task.replace:
        problems = [*other_bytes((wheel, companion), out, loaded.overlay.argument, used)]
        if problems:
            raise OutputError(problems)
    return BuiltWheels(
        overlay=loaded.name,
        argument=loaded.overlay.argument,
        wheel=out / wheel.name,
        companion=out / companion.name,
        sha256=digest,
        record=made.record,
        rebuilt=True,
        notices=made.notices,
        seconds=time.perf_counter() - began,
    )


def fresh_build(loaded: Loaded, out: Path) -> BuiltWheels | None:
    """Return the files of an earlier build that are up to date, or None."""
    began = time.perf_counter()
    with about(loaded.name), suppress(OutputError):
        if fresh := _fresh_wheels(loaded, out):
            wheel, companion, digest = fresh
            return BuiltWheels(
                overlay=loaded.name,
                argument=loaded.overlay.argument,
                wheel=wheel,
                companion=companion,
                sha256=digest,
                record=read_record(wheel),
                rebuilt=False,
                seconds=time.perf_counter() - began,
            )
    return None


def _fresh_wheels(loaded: Loaded, out: Path) -> tuple[Path, Path, str] | None:
    """Return a wheel, its companion and the wheel's sha256 of an earlier build where nothing has changed, else None."""
    overlay = loaded.overlay
    try:
        mode = _mode(loaded)
        digest = inputs_digest(input_files(overlay))
        used = wheel_inputs(loaded, digest)
        for source in sources_of(overlay.pin, mode):
            files = wheels_of(overlay, wheel_version(loaded, source, digest), out)
            if files and (stated := states(*files, used)):
                # From the commit is best; what an archive gave is up to date while git still has no answer.
                best = mode != "auto" or source.kind == "git" or not git_answers(overlay.pin, progress=step)
                return (*files, stated) if best else None
    except OverlayError:
        pass  # preparing it will fail for the same reason, and say so beside all the others
    return None


def _mode(loaded: Loaded) -> Mode:
    if loaded.clone is None:
        return loaded.mode
    acquire(loaded.overlay, loaded.mode, loaded.clone)  # the clone is looked at whenever it is named
    return "git"
