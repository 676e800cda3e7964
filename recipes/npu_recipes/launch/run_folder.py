"""The folder of a run: it holds the run's output, and a later start continues from its last checkpoint.

A plan is run in a process whose output goes into a file, and whose metrics are watched as they are written.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.files import make_folder
from npu_recipes.launch.curve import WATCHED, MetricCurve, draw, read_curve
from npu_recipes.launch.plan import METRICS, Plan

# Seconds between two looks at the metrics, until a process that was asked to end is killed, and between two reports.
INTERVAL, GRACE, PAUSE = 0.5, 20.0, 10.0
# How many lines of a failed run's output are shown.
_SHOWN = 15


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """A run's folder."""

    folder: Path  # of the run
    metrics: Path  # what verl's file logger is to write: it begins its file anew, so every start has one of its own
    earlier: tuple[Path, ...] = ()  # what it wrote in earlier starts

    @property
    def log(self) -> Path:
        """What verl printed, of all starts."""
        return self.folder / "log.txt"

    @property
    def picture(self) -> Path:
        """The curve."""
        return self.folder / "curve.svg"

    @property
    def idle(self) -> bool:
        """Whether a start that was to continue a run has logged no step."""
        return bool(self.earlier) and not (self.metrics.exists() and self.metrics.stat().st_size)

    def train(self, plan: Plan, *, tell: Callable[[MetricCurve], None]) -> MetricCurve:
        """Run a plan to its end, draw the curve and return it.

        Args:
            plan: what to run.
            tell: called with the curve so far, not more often than a person reads.

        Raises:
            RecipeError: the run failed; with the end of its output.
        """
        make_folder(self.folder, option="--output")
        code = run_plan(plan, self.log, tell=_throttled(tell), earlier=self.earlier)
        curve = read_curve((*self.earlier, self.metrics), WATCHED[plan.recipe.algorithm])
        if curve.steps:
            draw(curve, self.picture, title=plan.recipe.name)
        if code:
            lines = self.log.read_text("utf-8", "replace").splitlines()[-_SHOWN:]
            shown = "\n".join(f"    | {line}" for line in lines)
            what = f"training ended with {code}; the end of what it printed:\n{shown}"
            fix = f"the cause stands further up in {self.log}"
            raise RecipeError(Problem(where=plan.recipe.name, what=what, fix=fix))
        return curve

    def results(self) -> dict[str, Path]:
        """Return what there is now, by what it is."""
        checkpoints = self.folder / "checkpoints"
        places = {"metrics": self.metrics, "picture": self.picture, "log": self.log, "checkpoints": checkpoints}
        return {what: place for what, place in places.items() if place.exists()}


def begin(folder: Path) -> RunFolder:
    """Return the run of a folder, which need not be there yet."""
    earlier: list[Path] = []
    file = folder / "metrics.jsonl"
    while file.exists():
        earlier.append(file)
        file = folder / f"metrics-{len(earlier) + 1}.jsonl"
    return RunFolder(folder=folder, metrics=file, earlier=tuple(earlier))


def _throttled(tell: Callable[[MetricCurve], None]) -> Callable[[MetricCurve], None]:
    """Return a function that passes on the first curve at once and then one in each `PAUSE`."""
    last = -PAUSE

    def told(curve: MetricCurve) -> None:
        nonlocal last
        if time.monotonic() - last >= PAUSE:
            last = time.monotonic()
            tell(curve)

    return told


def run_plan(plan: Plan, log: Path, *, tell: Callable[[MetricCurve], None], earlier: Sequence[Path]) -> int:
    """Run a plan to its end, and return the exit code.

    Args:
        plan: what to run.
        log: the file that its output is added to.
        tell: called with the curve so far, whenever there is a new step.
        earlier: metrics of the runs that this one continues.

    Raises:
        KeyboardInterrupt: the user ended it, and the process has ended.
        SystemExit: another process ended it, or its terminal is gone; the process has ended, too.
    """
    files = [*earlier, Path(plan.environment[METRICS])]
    metric = WATCHED[plan.recipe.algorithm]
    with log.open("ab") as stream, _raised():
        process = _start(plan, stream)
        try:
            told = len(read_curve(files, metric).steps)
            while process.poll() is None:
                time.sleep(INTERVAL)
                curve = read_curve(files, metric)
                if len(curve.steps) > told:
                    told = len(curve.steps)
                    tell(curve)
        except BaseException:
            _end(process)
            raise
    return process.returncode


def _start(plan: Plan, stream: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a plan's training, so that it receives the interrupt of `_end`."""
    # A script's background jobs ignore interrupts, and so would the processes that they start.
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        # A session of its own: Ray's many processes get the user's signal from us, once, and not from the terminal.
        return subprocess.Popen(
            plan.command,
            env={**os.environ, **plan.environment},
            stdout=stream,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    finally:
        if ignored:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _raised() -> Iterator[None]:
    """Raise `SystemExit` on a signal that would end this process at once and leave the training running."""

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and what it started: asked first, since Ray then cleans up behind itself."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(GRACE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
