"""The built wheels in an environment with torch: each set of cases runs in a process of its own.

``VERL_TEST_PYTHON`` names the Python of an environment that holds torch and
verl's dependencies (``VERL_TEST_PYTHON_D62DA49`` another one for that pin,
whose transformers wants newer tokenizers); the patched wheels are built here
and laid over it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CASES = Path(__file__).parent / "cases"
STACKS = {"verl@796871d": "transformers@8365f70", "verl@d62da49": "transformers@91393fe"}

pytestmark = [pytest.mark.slow, pytest.mark.upstream]


def python_for(overlay: str) -> str:
    """Return the Python to run a pin's cases with; empty when none is named."""
    revision = overlay.partition("@")[2].upper()
    return os.environ.get(f"VERL_TEST_PYTHON_{revision}") or os.environ.get("VERL_TEST_PYTHON", "")


@pytest.fixture(scope="module", params=STACKS)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return a Python and a folder that holds both wheels of a stack, installed for it."""
    python = python_for(request.param)
    if not python:
        pytest.skip("VERL_TEST_PYTHON names no Python with torch and verl's dependencies")
    wheels, site = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("site")
    overlays = [request.param, STACKS[request.param]]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "build_tools")}
    build = [sys.executable, "-m", "npu_overlays", "build", *overlays, "--out", str(wheels)]
    subprocess.run([*build, "--overlays", str(ROOT / "overlays")], check=True, env=environment)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(site)]
    subprocess.run([*install, *map(str, sorted(wheels.glob("*.whl")))], check=True)
    return python, site


@pytest.mark.parametrize("cases", ["test_cpu.py", "test_emulated.py", "test_distributed.py", "test_training.py"])
def test_cases(installed: tuple[str, Path], cases: str) -> None:
    python, site = installed
    environment = {**os.environ, "PYTHONPATH": str(site), "EMULATED_NPU": str(int(cases == "test_emulated.py"))}

    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-c", str(CASES / "pytest.ini"), str(CASES / cases)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
