"""The default stack, which is made from release archives: installable as pip and the packages around it see it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

from environments import Installations, Unavailable
from support.environment import Environment
from support.venvs import make_venv
from support.wheelhouse import PROJECT
from support.wheels import members, record_problems

pytestmark = [pytest.mark.index, pytest.mark.slow]
_OVERLAYS = ("transformers@5.10.4", "verl@0.9.1")
_NEIGHBOURS = ("peft", "accelerate")


def run(*command: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the user's own configuration, which names the index."""
    environment = {**os.environ, **more}
    return subprocess.run([*map(str, command)], env=environment, capture_output=True, text=True, check=False)


def build(folder: Path, stack: str, source: str) -> Path:
    """Build a stack below a folder and return the folder of its wheels; skips where the source cannot be had."""
    command = (sys.executable, "-m", "npu_overlays", "build", "--source", source, "--stack", stack)
    outputs = ("--overlays", PROJECT / "overlays", "--out", folder / "wheels")
    done = run(*command, *outputs, NPU_OVERLAYS_CACHE=str(folder / "cache"))
    if done.returncode == 4:
        pytest.skip(f"the sources of {stack} cannot be had from {source}: {done.stderr}")
    assert done.returncode == 0, done.stderr
    return folder / "wheels"


@pytest.fixture(scope="module")
def stack(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheels of the default stack, which tests with torch build as well."""
    folder = tmp_path_factory.mktemp("stack")
    try:
        wheels = list(chain.from_iterable(map(Installations(shared / "npu").wheels, _OVERLAYS)))
    except Unavailable as reason:
        pytest.skip(str(reason))
    for wheel in wheels:
        (folder / wheel.name).symlink_to(wheel)
    return folder


def test_every_wheel_is_whole_and_without_stray_packages(stack: Path) -> None:
    tops = {}
    for wheel in stack.glob("*.whl"):
        assert record_problems(wheel) == []
        tops[wheel.name.partition("-")[0]] = {
            path.partition("/")[0] for path in members(wheel) if ".dist-info/" not in path
        }
    assert tops == {
        "transformers": {"transformers.py"},
        "transformers_npu": {"transformers", "transformers_npu_summary"},
        "verl": {"verl.py"},
        "verl_npu": {"verl", "verl_npu_summary"},
    }


# Most of a minute: pip looks at what hundreds of releases require.
@pytest.mark.thorough
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


@pytest.mark.upstream
def test_both_stacks_side_by_side(stack: Path, tmp_path: Path) -> None:
    other = build(tmp_path / "other", "mindspeed-rl-2.3", "git")
    environment = Environment(folder=tmp_path)
    venvs = {
        folder: make_venv(tmp_path / f"venv-{number}", environment) for number, folder in enumerate((stack, other))
    }
    for folder, venv in venvs.items():
        patched = sorted(folder.glob("*_npu-*.whl"))
        venv.install("--no-deps", *sorted(set(folder.glob("*.whl")) - set(patched)))
        venv.install("--no-deps", *patched)
    for folder, venv in venvs.items():
        report = venv.python("-m", "verl_npu_summary", "--verify", "--json").json()
        assert (report["status"], report["findings"]) == ("intact", [])
        found = {f"{one['name'].replace('-', '_')}-{one['version']}" for one in report["distributions"]}
        assert found == {wheel.name.removesuffix("-py3-none-any.whl") for wheel in folder.glob("*_npu-*.whl")}
