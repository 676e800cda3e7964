"""Measurements: commands and functions → how long they took and how much memory they held."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

# Kibibytes on Linux, bytes on macOS.
_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One run: seconds on the clock, and the most memory the process or one of its children held, in bytes."""

    seconds: float
    peak: int = 0


@dataclass(frozen=True, kw_only=True)
class Contender:
    """Something to be timed.

    Args:
        run: does it once.
        before: what has to be done before each run and is not part of it.
    """

    run: Callable[[], Measurement]
    before: Callable[[], None] = lambda: None


def command(
    *parts: str | Path, cwd: Path | None = None, codes: Collection[int] = (0,), cores: int = 0
) -> Callable[[], Measurement]:
    """Return a function that runs a command once, on so many cores, or on all where nothing is said.

    It raises `CalledProcessError`, with the output, where the command leaves with none of the codes.
    """
    return lambda: _run([str(part) for part in parts], cwd, codes, cores)


def _run(parts: list[str], cwd: Path | None, codes: Collection[int], cores: int) -> Measurement:
    before = os.sched_getaffinity(0) if cores else set()
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        if cores:  # what is started has those that this thread has
            os.sched_setaffinity(0, sorted(before)[:cores])
        process = subprocess.Popen(parts, cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        if cores:
            os.sched_setaffinity(0, before)
        # Not wait(): only wait4 says how much memory this one process held.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            output.seek(0)
            raise subprocess.CalledProcessError(process.returncode, parts, output.read())
    return Measurement(seconds=seconds, peak=usage.ru_maxrss * _PEAK_UNIT)


def function(run: Callable[[], object]) -> Callable[[], Measurement]:
    """Return a function that times one call."""

    def timed() -> Measurement:
        start = time.perf_counter()
        run()
        return Measurement(seconds=time.perf_counter() - start)

    return timed


def interleaved(
    contenders: Mapping[str, Contender], repeats: int, *, told: Callable[[str], None]
) -> dict[str, list[Measurement]]:
    """Run all contenders in turn, so that whatever else the machine does meets all of them.

    The first round fills caches and does not count.
    """
    samples: dict[str, list[Measurement]] = {name: [] for name in contenders}
    for number in range(repeats + 1):
        for name, contender in contenders.items():
            told(f"{name} ({number or 'not counted'})")
            contender.before()
            sample = contender.run()
            if number:
                samples[name].append(sample)
    return samples


def seconds(samples: Sequence[Measurement]) -> float:
    """Return the median time."""
    return median(sample.seconds for sample in samples)


def peak(samples: Sequence[Measurement]) -> int:
    """Return the highest peak."""
    return max(sample.peak for sample in samples)
