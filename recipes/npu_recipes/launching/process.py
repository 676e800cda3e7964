"""Process: a plan is run, its output kept in a file, and its metrics watched as they are written."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from npu_recipes.launching.curve import WATCHED, Curve, read_curve
from npu_recipes.launching.plan import METRICS, Plan

# Seconds between looks at the metrics, and until a process that was asked to end is killed.
INTERVAL, GRACE = 0.5, 20.0


def run_plan(plan: Plan, log: Path, *, tell: Callable[[Curve], None], earlier: list[Path]) -> int:
    """Run a plan to its end, and return the exit code.

    Args:
        plan: what to run.
        log: the file that its output is added to.
        tell: called with the curve so far, whenever there is a new step.
        earlier: metrics of the runs that this one goes on with.

    Raises:
        KeyboardInterrupt: the user ended it; the process is gone then.
        SystemExit: another process ended it, or its terminal is gone; likewise.
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
    """Start a plan's training, so that it hears `_end` ask."""
    # What a script runs in the background ignores interrupts, and so would all that it starts.
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
    """Raise `SystemExit` where a signal would end this process at once, and leave the training behind."""

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
