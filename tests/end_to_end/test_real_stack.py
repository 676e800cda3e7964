"""The default stack from its release archives: installable as pip and the packages around it see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.wheelhouse import PROJECT
from support.wheels import members, record_problems

pytestmark = [pytest.mark.index, pytest.mark.slow]
_NEIGHBOURS = ("peft", "accelerate")


def run(*command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the user's own configuration, which names the index."""
    environment = {**os.environ, **more}
    return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheels of the default stack."""
    folder = tmp_path_factory.mktemp("stack")
    build = (sys.executable, "-m", "npu_overlays", "build", "--source", "archive", "--overlays", PROJECT / "overlays")
    done = run(*build, "--out", folder / "wheels", NPU_OVERLAYS_CACHE=str(folder / "cache"))
    if done.returncode == 4:
        pytest.skip(f"the release archives cannot be had: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return folder / "wheels"


def test_every_wheel_is_whole_and_without_stray_packages(stack: Path) -> None:
    tops = set()
    for wheel in stack.glob("*.whl"):
        assert record_problems(wheel) == []
        tops |= {path.partition("/")[0] for path in members(wheel) if ".dist-info/" not in path}
    assert tops <= {"verl", "recipe", "verl_npu_summary", "transformers", "transformers_npu_summary"}


def test_pip_finds_versions_that_fit_the_pair_and_its_neighbours(stack: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    arguments = ("--dry-run", "--quiet", "--ignore-installed", "--find-links", stack, "--report", report)
    done = run(sys.executable, "-m", "pip", "install", *arguments, "verl-npu", "transformers-npu", *_NEIGHBOURS)
    assert done.returncode == 0, done.stderr
    chosen = {one["metadata"]["name"]: one["metadata"]["version"] for one in json.loads(report.read_text())["install"]}
    for name in ("verl", "transformers"):
        assert chosen[name] == chosen[f"{name}-npu"]
        assert "+npu." in chosen[name]
    assert set(_NEIGHBOURS) <= set(chosen)
