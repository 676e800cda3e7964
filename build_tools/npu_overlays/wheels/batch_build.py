"""Batch build: overlays → their wheels and companions, written by hatchling: all or none, or as many as build.

What is up to date of an earlier build stays.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.errors import ConfigError, OutputError, OverlayError, Problem
from npu_overlays.files import writing
from npu_overlays.overlay.inputs import input_files, inputs_digest
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.build_version import wheel_inputs, wheel_version
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.pipeline.upstream import acquire
from npu_overlays.progress import about, step
from npu_overlays.sources.acquisition import ask_again, git_answers, sources_of
from npu_overlays.sources.tree import Mode
from npu_overlays.wheels.assembly import WheelPair
from npu_overlays.wheels.constraints_files import write_constraints
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.merge_cache import kits
from npu_overlays.wheels.output_folder import (
    earlier_builds,
    move_into,
    other_bytes,
    remove_superseded,
    wheels_of,
    workspace,
)
from npu_overlays.wheels.results import BuildOutcome, BuiltWheels, FailedBuild
from npu_overlays.wheels.statement import statement_file, states, write_statement

if TYPE_CHECKING:
    from npu_overlays.worker_pool import WorkerDied


@dataclass(frozen=True, kw_only=True)
class BuildPolicy:
    """How several overlays are built."""

    force: bool = False  # those too that are up to date, and repositories are asked again that were silent lately
    jobs: int = 1  # how many at once
    keep_going: bool = False  # whether those that can be built are, where others cannot be; else none is
    replace: bool = False  # whether a wheel may take the place of one of its version with other bytes


def build_all(overlays: Sequence[Overlay], choice: Choice, out: Path, policy: BuildPolicy) -> tuple[BuildOutcome, ...]:
    """Build several overlays unless up to date; nothing appears in `out` before all were tried.

    Args:
        overlays: in building order.
        choice: the sources of their upstreams.
        out: folder for the wheels, their companions and statements.
        policy: how.

    Returns:
        The result of each; some may have failed only with `--keep-going`.

    Raises:
        OverlayError: with the mistakes of every overlay; or `out` cannot be written. No half wheel is left.
    """
    if policy.force:
        ask_again()
    loader = Loader(overlays, choice)
    loaded, found = _load(overlays, loader, out)
    if not policy.force:
        for one in loaded:
            if built := fresh_build(one, out):
                found[one.overlay.folder] = built
    stale = [one for one in loaded if one.overlay.folder not in found]
    writes = bool(stale) and (policy.keep_going or not _failed(found))
    with workspace(out) if writes else nullcontext() as folder:
        found |= _work(stale, folder, out, policy)
        if not policy.keep_going:
            _refuse(overlays, found)
        if folder:
            move_into(out, folder.glob("*/*"))
    wheels = {}
    for place, outcome in found.items():
        if isinstance(outcome, BuiltWheels):
            wheels[place] = outcome.wheel
            # Also where the wheel lay there already.
            newer = remove_superseded((outcome.wheel, outcome.companion, statement_file(outcome.wheel)))
            found[place] = replace(outcome, instead_of=newer)
    write_constraints([one for one in loaded if one.overlay.folder in wheels], loader, wheels.values(), out)
    return tuple(found[overlay.folder] for overlay in overlays)


def _load(overlays: Iterable[Overlay], loader: Loader, out: Path) -> tuple[list[Loaded], dict[Path, BuildOutcome]]:
    """Return the overlays that can be read completely, and the errors of the others by folder."""
    loaded: list[Loaded] = []
    found: dict[Path, BuildOutcome] = {}
    for overlay in overlays:
        try:
            one = loader.load(overlay)
            loaded.append(replace(one, earlier=earlier_builds(one, out)))
        except ConfigError as error:
            from npu_overlays.pipeline.preparation import with_causes  # noqa: PLC0415  # what was built before needs no merging

            found[overlay.folder] = FailedBuild(overlay=overlay.name, error=with_causes(error, overlay, loader))
        except OverlayError as error:
            found[overlay.folder] = FailedBuild(overlay=overlay.name, error=error)
    return loaded, found


def _work(stale: Sequence[Loaded], folder: Path | None, out: Path, policy: BuildPolicy) -> dict[Path, BuildOutcome]:
    """Return the result of each overlay by folder; for those that were only tried, why they cannot be built.

    Args:
        stale: the overlays.
        folder: for their files, in a folder of its own for each; None if they are only tried.
        out: where the files will lie.
        policy: how; without `--keep-going`, overlays that have not begun when one fails are only tried.
    """
    found: dict[Path, BuildOutcome] = {}

    def tasks() -> Iterator[Task]:
        for number, one in enumerate(stale):
            able = folder and (policy.keep_going or not _failed(found))
            place = folder / str(number) if folder and able else None
            yield Task(loaded=one, folder=place, out=out, replace=policy.replace, anew=policy.force)

    def take(task: Task, outcome: BuildOutcome | None) -> None:
        if isinstance(outcome, FailedBuild) and task.folder:
            shutil.rmtree(task.folder, ignore_errors=True)
        if outcome:
            found[task.loaded.overlay.folder] = outcome

    if (jobs := min(policy.jobs, len(stale))) > 1:
        # Takes time, which a single wheel need not take.
        from npu_overlays.worker_pool import TaskBatch, WorkerDied, run_tasks  # noqa: PLC0415

        def hear(task: Task, outcome: BuildOutcome | WorkerDied | None) -> None:
            take(task, _died(task, outcome) if isinstance(outcome, WorkerDied) else outcome)

        run_tasks(TaskBatch(do=attempt, tasks=tasks(), number=len(stale), jobs=jobs), hear)
    else:
        for task in tasks():
            take(task, attempt(task))
    return found


def _died(task: Task, died: WorkerDied) -> FailedBuild:
    what = f"the process that built it ended before it was done: {died.how}"
    fix = "build with fewer --jobs: memory may have run out"
    return FailedBuild(
        overlay=task.loaded.name, error=OverlayError(Problem(where=task.loaded.name, what=what, fix=fix))
    )


def _failed(found: Mapping[Path, BuildOutcome]) -> list[FailedBuild]:
    return [one for one in found.values() if isinstance(one, FailedBuild)]


def _refuse(overlays: Sequence[Overlay], found: Mapping[Path, BuildOutcome]) -> None:
    """Raise the mistakes of all overlays, if any, and say how to build the others."""
    failed = _failed(found)
    if not failed:
        return
    problems = dict.fromkeys(chain.from_iterable(one.error.problems for one in failed))
    error, wrong = type(failed[0].error)(problems), {one.overlay for one in failed}
    able = sorted(overlay.argument for overlay in overlays if overlay.name not in wrong)
    if not able:
        raise error
    what = f"nothing was built: {len(failed)} of {len(overlays)} overlays cannot be built"
    others = f"build the others alone: npu-overlays build {' '.join(able)}"
    fix = f"correct the errors above, or {others}; --keep-going builds those that can be built"
    raise type(error)((*error.problems, Problem(where="npu-overlays build", what=what, fix=fix)))


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
        OutputError.raise_for(other_bytes((wheel, companion), out, loaded.overlay.argument, used))
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
