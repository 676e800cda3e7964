"""The built wheels in an environment with torch: each set of cases runs in a process of its own.

The environment is made here and kept between runs; upstream's packages,
unpatched, lie beside the patched ones as the reference.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from npu.environment import Torch, Unavailable, Wheelhouse
from support.verl_stacks import STACKS, Stack

CASES = Path(__file__).parent / "cases"
# Files of cases, and whether their process has an NPU.
ON_CPU = (
    "test_cpu.py",
    "test_distributed.py",
    "test_training.py",
    "test_actor.py",
    "test_sharded_actor.py",
    "test_attention.py",
    "test_drivers.py",
    "test_nothing_patched.py",
)
ON_NPU = (
    "test_emulated.py",
    "test_actor.py",
    "test_sharded_actor.py",
    "test_engines.py",
    "test_megatron.py",
    "test_switching.py",
)

pytestmark = [pytest.mark.slow, pytest.mark.index]


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


@pytest.fixture(
    scope="module",
    params=[pytest.param(stack, id=stack.verl, marks=[pytest.mark.upstream] * stack.git_only) for stack in STACKS],
)
def installed(request: pytest.FixtureRequest, shared: Path) -> Installed:
    """Return a stack with all it needs, or skip with the reason."""
    stack: Stack = request.param
    wheelhouse = Wheelhouse(shared / "npu")
    try:
        environment = stack.environment()
        patched, upstream = stack.installed(wheelhouse, environment), stack.upstream(wheelhouse, environment)
    except Unavailable as reason:
        pytest.skip(str(reason))
    return Installed(environment=environment, patched=patched, upstream=upstream)


@pytest.fixture(scope="module")
def actor_reference(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with what upstream's actor computes on CPU."""
    file = tmp_path_factory.mktemp("actor") / "upstream.pt"
    installed.run(CASES / "actor.py", file, packages=installed.upstream)
    return file


@pytest.mark.parametrize(
    ("cases", "emulated"), [*((cases, False) for cases in ON_CPU), *((cases, True) for cases in ON_NPU)]
)
def test_cases(installed: Installed, actor_reference: Path, cases: str, emulated: bool) -> None:
    report = installed.run(
        *("-m", "pytest", "-q", "-c", CASES / "pytest.ini", CASES / cases),
        packages=installed.patched,
        EMULATED_NPU=str(int(emulated)),
        UPSTREAM_ACTOR=str(actor_reference),
        UPSTREAM_PACKAGES=str(installed.upstream),
    )

    assert " passed" in report
