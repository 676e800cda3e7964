"""The built wheels in an environment with torch: each set of cases runs in a process of its own.

What a case skips is listed here as well, with its reason.

The environment is made here and kept between runs; upstream's packages,
unpatched, lie beside the patched ones as the reference.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable
from environments.once import once
from upstream_tests import passed, read_outcomes, read_skipped
from verl_stacks import STACKS, Stack

CASES = Path(__file__).parent / "cases"
# What one process runs: files of cases that have the same stand-ins for packages, and whether it has an NPU.
PROCESSES = {
    "training": (False, "training"),
    "training at length": (False, "training"),
    "cpu": (False, "cpu distributed actor attention"),
    "npu": (True, "emulated actor sharded_actor"),
    "drivers": (False, "drivers nothing_patched"),
    "drivers on a cluster": (False, "drivers"),
    "engines": (True, "mindspeed megatron engines switching turns"),
    "audits": (False, "nothing_patched"),
    "sharded": (False, "sharded_actor"),
    "platform": (False, "platform"),
    "platform of the npu": (True, "platform"),
}
# What costs much and finds little beyond the others: which cases, marked so or not, in a process of their own.
THOROUGH = {
    "audits": "thorough",
    "drivers on a cluster": "thorough",
    "sharded": "thorough",
    "training at length": "thorough or not thorough",
}

# The cases that ask upstream's own actor.
ACTORS = {"cpu", "npu", "sharded"}
# What all of a stack share takes a minute to make: whoever comes second does better to do something else meanwhile.
ORDER = {"training": [pytest.mark.slow("first")]}
RUNS = [
    pytest.param(
        stack,
        name,
        id=f"{stack.verl}-{name}",
        marks=[*stack.marks, *[pytest.mark.thorough] * (name in THOROUGH), *ORDER.get(name, [pytest.mark.slow])],
    )
    for stack in STACKS
    for name in stack.processes
]

pytestmark = pytest.mark.index


@dataclass(frozen=True, kw_only=True)
class Installed:
    """One stack, patched and not.

    Args:
        environment: holds what the stack depends on.
        patched: folder with the patched packages.
        upstream: folder with upstream's.
    """

    environment: Torch
    patched: Path
    upstream: Path

    def run(self, *arguments: str | Path, packages: Path, **variables: str) -> str:
        """Run the environment's Python over a folder of packages; returns what it wrote."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "PYTHON"))}
        done = subprocess.run(
            [str(self.environment.python), *map(str, arguments)],
            env={**kept, "HF_HUB_OFFLINE": "1", **variables, "PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-3000:]
        return done.stdout


@pytest.fixture(scope="module")
def installed(request: pytest.FixtureRequest, shared: Path) -> Installed:
    """Return a stack with all it needs, or skip with the reason."""
    stack: Stack = request.param
    installations = Installations(shared / "npu")
    try:
        environment = stack.environment()
        patched, upstream = stack.installed(installations, environment), stack.upstream(installations, environment)
    except Unavailable as reason:
        pytest.skip(str(reason))
    return Installed(environment=environment, patched=patched, upstream=upstream)


@pytest.fixture(scope="module")
def actor_reference(installed: Installed, shared: Path) -> Path:
    """Return a file with what upstream's actor computes on CPU."""

    def make(folder: Path) -> None:
        installed.run(CASES / "actor.py", folder / "upstream.pt", packages=installed.upstream)

    return once(shared, f"actor-{installed.upstream.name}", make) / "upstream.pt"


@pytest.mark.parametrize(("installed", "process"), RUNS, indirect=["installed"])
def test_cases(
    installed: Installed, process: str, request: pytest.FixtureRequest, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    emulated, names = PROCESSES[process]
    report = tmp_path / "report.xml"
    reference = str(request.getfixturevalue("actor_reference")) if process in ACTORS else ""
    installed.run(
        *("-m", "pytest", "-q", "-c", CASES / "pytest.ini", f"--junitxml={report}"),
        *("-m", THOROUGH.get(process, "not thorough")),
        *(CASES / f"test_{name}.py" for name in names.split()),
        packages=installed.patched,
        EMULATED_NPU=str(int(emulated)),
        UPSTREAM_ACTOR=reference,
        UPSTREAM_PACKAGES=str(installed.upstream),
    )

    assert passed(read_outcomes(report)) > 0
    for case, reason in read_skipped(report).items():
        with subtests.test(case):
            pytest.skip(f"{case}: {reason}")
