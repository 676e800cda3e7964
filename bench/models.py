"""Models: an overlay of transformers → what its models cost beside upstream's code, on CPU and emulated NPU."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from environments import Installations, Unavailable, torch_environment

_LAB = Path(__file__).resolve().parent.parent / "lab"
_SCRIPT = Path(__file__).with_name("model_steps.py")
# The first is had from git; the second where no repository can be reached.
_CANDIDATES = ("transformers@8365f70", "transformers@91393fe")
ON_CPU = ("qwen2", "qwen3_moe")


@dataclass(frozen=True, kw_only=True)
class Environments:
    """The Pythons of two environments: with the patched transformers, and with upstream's."""

    overlay: str
    patched: Path
    upstream: Path


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What one model costs on the emulated NPU, patched and as upstream has it.

    Args:
        family: of models.
        operators: launched for each layer, forward and backward.
        waits: of the host for the device, in the whole model.
    """

    family: str
    operators: tuple[float, float]
    waits: tuple[int, int]


def environments(work: Path, told: Callable[[str], None]) -> Environments | str:
    """Return two environments made in a folder, or why there are none."""
    told("installing torch")
    reason = ""
    for overlay in _CANDIDATES:
        installations = Installations(work / "npu")
        try:
            torch = torch_environment()
            told(f"installing {overlay}, patched and not")
            patched, upstream = installations.install(torch, overlay), installations.upstream(torch, overlay)
        except Unavailable as error:
            reason = str(error)
            continue
        return Environments(overlay=overlay, patched=patched.python, upstream=upstream.python)
    return reason


def costs(pythons: Environments, told: Callable[[str], None]) -> list[Cost]:
    """Return what every family of models costs on the emulated NPU."""
    told("counting operators")
    patched, upstream = (_operators(python) for python in (pythons.patched, pythons.upstream))
    return [
        Cost(
            family=family,
            operators=(ours["operators"], upstream[family]["operators"]),
            waits=(int(ours["waits"]), int(upstream[family]["waits"])),
        )
        for family, ours in patched.items()
    ]


def _operators(python: Path) -> dict[str, dict[str, float]]:
    command = [str(python), str(_SCRIPT), "operators"]
    done = subprocess.run(command, env=_variables(), capture_output=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def seconds(pythons: Environments, family: str, rounds: int, told: Callable[[str], None]) -> tuple[float, float]:
    """Return the median time of some training steps on CPU, patched and upstream's, taken in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    with ExitStack() as stack:
        workers = [stack.enter_context(_worker(python, family)) for python in (pythons.patched, pythons.upstream)]
        for number in range(-2, rounds):
            told(f"training {family} on CPU ({number if number > 0 else 'not counted'})")
            # Which one goes first changes, lest it pays for what the other left behind.
            for place in (0, 1) if number % 2 else (1, 0):
                taken = workers[place]()
                if number >= 0:
                    times[place].append(taken)
    return median(times[0]), median(times[1])


@contextmanager
def _worker(python: Path, family: str) -> Iterator[Callable[[], float]]:
    """Run a process that has the model ready; what is given takes one measurement."""
    command = [str(python), str(_SCRIPT), "seconds", family]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=_variables(), text=True, **pipes) as process:  # type: ignore[call-overload]

        def measure() -> float:
            process.stdin.write("\n")
            process.stdin.flush()
            return float(process.stdout.readline())

        yield measure
        process.stdin.close()


def _variables() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(_LAB), "OMP_NUM_THREADS": "1"}
