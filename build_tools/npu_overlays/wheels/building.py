"""Building: overlays → their wheels and companions, written by hatchling: all or none, or all that can be built."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from npu_overlays.errors import ConfigError, OutputError, OverlayError, Problem
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.pipeline.loader import Loaded, Loader
from npu_overlays.progress import about
from npu_overlays.sources.acquisition import ask_again
from npu_overlays.wheels.constraining import write_constraints
from npu_overlays.wheels.freshness import fresh_wheels
from npu_overlays.wheels.inspection import read_record
from npu_overlays.wheels.making import Task, attempt
from npu_overlays.wheels.output_folder import earlier_builds, move_into, remove_superseded, workspace
from npu_overlays.wheels.results import Built, Failed, Outcome
from npu_overlays.wheels.statement import statement_file

if TYPE_CHECKING:
    from npu_overlays.worker_pool import WorkerDied


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How several overlays are built.

    Args:
        force: those too that are up to date, and repositories are asked again that were silent lately.
        jobs: how many at once.
        keep_going: whether those that can be built are, where others cannot be; else none is.
        replace: whether a wheel may take the place of one of its version with other bytes.
    """

    force: bool = False
    jobs: int = 1
    keep_going: bool = False
    replace: bool = False


def build_all(overlays: Sequence[Overlay], choice: Choice, out: Path, manner: Manner) -> tuple[Outcome, ...]:
    """Build several overlays, each only where it is not up to date; nothing appears in `out` before all were tried.

    Args:
        overlays: in building order.
        choice: where their upstreams are to come from.
        out: folder for the wheels, their companions and statements.
        manner: how.

    Returns:
        What came of each: only where it is to be kept going, some may have failed.

    Raises:
        OverlayError: with the mistakes of every overlay; or `out` cannot be written. No half wheel is left.
    """
    if manner.force:
        ask_again()
    loader = Loader(overlays, choice)
    loaded, found = _load(overlays, loader, out)
    found |= {one.overlay.folder: built for one in loaded if not manner.force and (built := _fresh(one, out))}
    stale = [one for one in loaded if one.overlay.folder not in found]
    writes = bool(stale) and (manner.keep_going or not _failed(found))
    with workspace(out) if writes else nullcontext() as folder:
        found |= _work(stale, folder, out, manner)
        if not manner.keep_going:
            _refuse(overlays, found)
        if folder:
            move_into(out, folder.glob("*/*"))
    found = {name: _alone(one) if isinstance(one, Built) else one for name, one in found.items()}
    wheels = {name: one.wheel for name, one in found.items() if isinstance(one, Built)}
    write_constraints([one for one in loaded if one.overlay.folder in wheels], loader, wheels.values(), out)
    return tuple(found[overlay.folder] for overlay in overlays)


def _alone(built: Built) -> Built:
    """Remove the development builds in whose place one has come, also where it lay there already."""
    newer = remove_superseded((built.wheel, built.companion, statement_file(built.wheel)))
    return replace(built, instead_of=newer)


def _load(overlays: Iterable[Overlay], loader: Loader, out: Path) -> tuple[list[Loaded], dict[Path, Outcome]]:
    """Return the overlays that can be read whole, and by folder why the others cannot."""
    loaded: list[Loaded] = []
    found: dict[Path, Outcome] = {}
    for overlay in overlays:
        try:
            one = loader.load(overlay)
            loaded.append(replace(one, earlier=earlier_builds(one, out)))
        except ConfigError as error:
            from npu_overlays.pipeline.preparation import with_causes  # noqa: PLC0415  # what was built before needs no merging

            found[overlay.folder] = Failed(overlay=overlay.name, error=with_causes(error, overlay, loader))
        except OverlayError as error:
            found[overlay.folder] = Failed(overlay=overlay.name, error=error)
    return loaded, found


def _fresh(loaded: Loaded, out: Path) -> Built | None:
    """Return the files of an earlier build where they need not be built again."""
    began = time.perf_counter()
    with about(loaded.name), suppress(OutputError):
        if fresh := fresh_wheels(loaded, out):
            wheel, companion, digest = fresh
            return Built(
                overlay=loaded.name,
                wheel=wheel,
                companion=companion,
                sha256=digest,
                record=read_record(wheel),
                rebuilt=False,
                seconds=time.perf_counter() - began,
            )
    return None


def _work(stale: Sequence[Loaded], folder: Path | None, out: Path, manner: Manner) -> dict[Path, Outcome]:
    """Return by folder what came of each overlay; of those that were only tried, why they cannot be built.

    Args:
        stale: the overlays.
        folder: for their files, in a folder of its own for each; None where they are only tried.
        out: where the files will lie.
        manner: how; where it is not to be kept going, what has not begun when one fails is only tried.
    """
    found: dict[Path, Outcome] = {}

    def tasks() -> Iterator[Task]:
        for number, one in enumerate(stale):
            able = folder and (manner.keep_going or not _failed(found))
            place = folder / str(number) if folder and able else None
            yield Task(loaded=one, folder=place, out=out, replace=manner.replace, anew=manner.force)

    def take(task: Task, outcome: Outcome | None) -> None:
        if isinstance(outcome, Failed) and task.folder:
            shutil.rmtree(task.folder, ignore_errors=True)
        if outcome:
            found[task.loaded.overlay.folder] = outcome

    if (jobs := min(manner.jobs, len(stale))) > 1:
        # Takes time, which a single wheel need not take.
        from npu_overlays.worker_pool import TaskBatch, WorkerDied, run_tasks  # noqa: PLC0415

        def hear(task: Task, outcome: Outcome | WorkerDied | None) -> None:
            take(task, _died(task, outcome) if isinstance(outcome, WorkerDied) else outcome)

        run_tasks(TaskBatch(do=attempt, tasks=tasks(), number=len(stale), jobs=jobs), hear)
    else:
        for task in tasks():
            take(task, attempt(task))
    return found


def _died(task: Task, died: WorkerDied) -> Failed:
    what = f"the process that built it ended before it was done: {died.how}"
    fix = "build with fewer --jobs: memory may have run out"
    return Failed(overlay=task.loaded.name, error=OverlayError(Problem(where=task.loaded.name, what=what, fix=fix)))


def _failed(found: Mapping[Path, Outcome]) -> list[Failed]:
    return [one for one in found.values() if isinstance(one, Failed)]


def _refuse(overlays: Sequence[Overlay], found: Mapping[Path, Outcome]) -> None:
    """Raise the mistakes of all overlays where there are any, and where others have none, how to build those."""
    failed = _failed(found)
    if not failed:
        return
    problems = dict.fromkeys(problem for one in failed for problem in one.error.problems)
    error, wrong = type(failed[0].error)(problems), {one.overlay for one in failed}
    able = sorted(overlay.name for overlay in overlays if overlay.name not in wrong)
    if not able:
        raise error
    what = f"nothing was built: {len(failed)} of {len(overlays)} overlays cannot be"
    others = f"build the others alone: npu-overlays build {' '.join(able)}"
    fix = f"mend what is said above, or {others}; --keep-going builds what can be"
    raise type(error)((*error.problems, Problem(where="npu-overlays build", what=what, fix=fix)))
