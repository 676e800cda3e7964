"""The installed transformers-npu wheels on the emulated NPU: `cases/` runs in an environment with them and torch."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
PINS = [
    pytest.param("transformers@91393fe", marks=pytest.mark.index),
    pytest.param("transformers@8365f70", marks=pytest.mark.upstream),
]
# What differs between versions of torch_npu: which operators there are, and what they can do.
VERSIONS = ["2.5.1", pytest.param("2.6.0", marks=pytest.mark.thorough), "2.14.0"]


def _environments(installations: Installations, torch: Torch, overlay: str) -> tuple[Torch, Torch]:
    try:
        return installations.install(torch, overlay), installations.upstream(torch, overlay)
    except Unavailable as reason:
        pytest.skip(str(reason))


def _run(python: Path, *arguments: str | Path, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "PYTHON"))}
    done = subprocess.run(
        [str(python), *map(str, arguments)],
        env={**kept, **variables},
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20000:] + done.stderr[-5000:]
    return done.stdout


def _run_cases(python: Path, *arguments: str | Path, **variables: str) -> str:
    return _run(python, "-m", "pytest", "-q", "-c", HERE / "cases" / "pytest.ini", *arguments, **variables)


@pytest.mark.parametrize("overlay", PINS)
def test_the_installed_wheel_is_upstream_on_cpu_and_right_and_fused_on_npu(
    overlay: str, installations: Installations, torch_python: Torch, tmp_path: Path
) -> None:
    installed, upstream = _environments(installations, torch_python, overlay)
    reference = tmp_path / "upstream.pt"
    _run(upstream.python, ROOT / "lab" / "tiny_models.py", reference)
    report = _run_cases(installed.python, HERE / "cases", UPSTREAM_REFERENCE=str(reference))
    assert " passed" in report
    assert "skipped" not in report, report
    assert "deselected" not in report, report


@pytest.mark.index
@pytest.mark.parametrize("version", VERSIONS)
def test_every_torch_npu_version_is_served_by_what_it_has(
    version: str, installations: Installations, torch_python: Torch
) -> None:
    installed, _ = _environments(installations, torch_python, "transformers@91393fe")
    files = [HERE / "cases" / f"test_{name}.py" for name in ("emulation", "kernels", "moe", "flash_attention")]
    assert " passed" in _run_cases(installed.python, *files, EMULATED_TORCH_NPU=version)
