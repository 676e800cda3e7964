"""Models: an overlay of transformers → what its models cost beside upstream's code, on CPU and emulated NPU."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from environments import Installations, torch_environment
from npu_schemas import stack_versions

_LAB = Path(__file__).resolve().parent.parent / "lab"
_SCRIPT = Path(__file__).with_name("model_steps.py")
# Of the default stack; a package index has it.
_OVERLAY = "transformers@5.10.4"
# One for each form: of norms, of rotary embeddings, of MLPs, and experts.
ON_CPU = ("llama", "gemma3_text", "olmo2", "deepseek_v3", "glm4", "qwen3_moe")
_IMPORTING = "from transformers import Qwen3MoeForCausalLM"
# Two processes of the same code differ by some percent, however many their rounds are: so there are several of each.
SETS = 7
# Which one goes first changes, lest it pays for what another left behind.
_TURNS = tuple(permutations(range(3)))


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
        fused: those of them that are the NPU's own.
        waits: of the host for the device, in the whole model.
    """

    family: str
    operators: tuple[float, float]
    fused: tuple[float, float]
    waits: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class StepTimes:
    """What training steps on CPU, or imports, take.

    Args:
        seconds: patched and as upstream has it, the median over all sets of processes.
        ratios: of the two, for each set.
        noise: of upstream's to upstream's in another process, for each set: what a ratio of the same code can be.
    """

    seconds: tuple[float, float]
    ratios: tuple[float, ...]
    noise: tuple[float, ...]


def environments(work: Path, told: Callable[[str], None]) -> Environments:
    """Return two environments made in a folder; raises `Unavailable` where the overlay cannot be had."""
    told("installing torch")
    torch, installations = torch_environment(), Installations(work / "npu")
    told(f"installing {_OVERLAY}, patched and not")
    patched, upstream = installations.install(torch, _OVERLAY), installations.upstream(torch, _OVERLAY)
    return Environments(overlay=_OVERLAY, patched=patched.python, upstream=upstream.python)


def costs(pythons: Environments, told: Callable[[str], None]) -> list[Cost]:
    """Return what every family of models costs on the emulated NPU."""
    told("counting operators")
    version = stack_versions(pythons.overlay)[-1]
    patched, upstream = (_operators(python, version) for python in (pythons.patched, pythons.upstream))
    return [
        Cost(
            family=family,
            operators=(ours["operators"], upstream[family]["operators"]),
            fused=(ours["fused"], upstream[family]["fused"]),
            waits=(int(ours["waits"]), int(upstream[family]["waits"])),
        )
        for family, ours in patched.items()
    ]


def _operators(python: Path, torch_npu: str) -> dict[str, dict[str, float]]:
    command = [str(python), str(_SCRIPT), "operators"]
    variables = {**_variables(), "EMULATED_TORCH_NPU": torch_npu}
    done = subprocess.run(command, env=variables, capture_output=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def steps(pythons: Environments, family: str, rounds: int, told: Callable[[str], None]) -> StepTimes:
    """Return what training steps on CPU take, patched and not, in several sets of processes."""
    sets = []
    for number in range(SETS):
        told(f"training {family} on CPU, set {number + 1} of {SETS}")
        sets.append(_set(pythons, family, rounds))
    return StepTimes(
        seconds=(median(one[0] for one in sets), median(one[1] for one in sets)),
        ratios=tuple(ours / theirs for ours, theirs, _ in sets),
        noise=tuple(again / theirs for _, theirs, again in sets),
    )


def _set(pythons: Environments, family: str, rounds: int) -> tuple[float, float, float]:
    """Return the median time of some steps, taken in turn: patched, upstream's, and upstream's in another process."""
    times: tuple[list[float], ...] = ([], [], [])
    with ExitStack() as stack:
        places = (pythons.patched, pythons.upstream, pythons.upstream)
        workers = [stack.enter_context(_worker(python, family)) for python in places]
        for number in range(-2, rounds):  # the first two do not count
            for place in _TURNS[number % len(_TURNS)]:
                taken = workers[place]()
                if number >= 0:
                    times[place].append(taken)
    ours, theirs, again = map(median, times)
    return ours, theirs, again


def imports(pythons: Environments, rounds: int, told: Callable[[str], None]) -> StepTimes:
    """Return what importing a model takes in a process of its own, patched and not, in turn."""
    told("importing transformers")
    times: tuple[list[float], ...] = ([], [], [])
    places = (pythons.patched, pythons.upstream, pythons.upstream)
    for number in range(-1, rounds):  # the first writes bytecode
        for place in _TURNS[number % len(_TURNS)]:
            taken = _import_seconds(places[place])
            if number >= 0:
                times[place].append(taken)
    ours, theirs, again = times
    return StepTimes(
        seconds=(median(ours), median(theirs)),
        ratios=tuple(one / other for one, other in zip(ours, theirs, strict=True)),
        noise=tuple(one / other for one, other in zip(again, theirs, strict=True)),
    )


def _import_seconds(python: Path) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([str(python), "-W", "ignore", "-c", _IMPORTING], env=_variables(), capture_output=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def _worker(python: Path, family: str) -> Iterator[Callable[[], float]]:
    """Run a process that has the model ready; what is given takes one measurement."""
    command = [str(python), str(_SCRIPT), "seconds", family]
    with tempfile.TemporaryFile("w+") as said:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": said}
        with subprocess.Popen(command, env=_variables(), text=True, **pipes) as process:  # type: ignore[call-overload]

            def measure() -> float:
                with suppress(BrokenPipeError):
                    process.stdin.write("\n")
                    process.stdin.flush()
                taken = process.stdout.readline()
                if not taken:  # it has ended
                    code = process.wait()
                    said.seek(0)
                    raise subprocess.CalledProcessError(code, command, stderr=said.read())
                return float(taken)

            yield measure
            process.stdin.close()


def _variables() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(_LAB), "OMP_NUM_THREADS": "1"}
