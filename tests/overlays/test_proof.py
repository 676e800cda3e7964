"""The proof of a port: it refuses overlays that it cannot prove, and runs a port of verl as upstream requires."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from environments import ROOT, Torch
from npu_overlays.errors import OverlayError
from proof.__main__ import main
from proof.transformers_port import has_passed
from proof.verl_port import differences_of_upstreams, fitting_stack, retired_module
from verl_stacks import Stack
from verl_tests import Laboratory, Verdict

OTHER = """\
[build-system]
requires = ["npu-overlays"]
build-backend = "npu_overlays.backend"

[tool.overlay]
project = "demo"
suffix = "npu"
packages = ["demo"]
revision = 1

[[tool.overlay.upstream.archive]]
distribution = "demo"
version = "1.0"
file = "demo-1.0-py3-none-any.whl"
sha256 = "1111111111111111111111111111111111111111111111111111111111111111"
"""
NAMED = {"NPU_OVERLAYS_ROOT": str(ROOT / "overlays"), "NPU_OVERLAYS_WHEELS": str(ROOT / "nowhere")}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "NPU_OVERLAYS_NAME, NPU_OVERLAYS_ROOT, NPU_OVERLAYS_WHEELS: not set"),
        ({**NAMED, "NPU_OVERLAYS_NAME": "transformers@1.0"}, "transformers@1.0: no such overlay"),
        ({**NAMED, "NPU_OVERLAYS_NAME": "transformers@5.10.4"}, "holds no wheel"),
        ({**NAMED, "NPU_OVERLAYS_NAME": "verl@0.9.1"}, "holds no wheel"),
    ],
    ids=["by hand", "unknown", "not built", "not built, of verl"],
)
def test_unprovable_ports_are_refused_with_a_fix(
    variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused_here(variables, said, monkeypatch, capsys)


def test_what_cannot_be_proven_gives_the_reason_to_follow(tmp_path: Path) -> None:
    reason = tmp_path / "untried.txt"
    refused({**NAMED, "NPU_OVERLAYS_NAME": "verl@0.9.1", "NPU_OVERLAYS_UNTRIED": str(reason)}, "holds no wheel")
    assert reason.read_text() == f"{ROOT / 'nowhere'}: holds no wheel"


def test_a_port_of_transformers_on_which_no_case_runs_is_not_disproved() -> None:
    assert has_passed(0, "transformers@9.0.0")
    assert not has_passed(1, "transformers@9.0.0")
    with pytest.raises(OverlayError, match="none of our cases is for this version"):
        has_passed(5, "transformers@9.0.0")


def test_a_port_of_another_project_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo@1.0").mkdir()
    (tmp_path / "demo@1.0/pyproject.toml").write_text(OTHER)
    named = {**NAMED, "NPU_OVERLAYS_ROOT": str(tmp_path), "NPU_OVERLAYS_NAME": "demo@1.0"}
    refused_here(named, "demo@1.0: only ports of transformers and verl can be proven", monkeypatch, capsys)


def refused_here(
    variables: dict[str, str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the program in this process: starting it anew takes a second."""
    for name in [name for name in os.environ if name.startswith("NPU_OVERLAYS_")]:
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main() == 2
    error = capsys.readouterr().err
    assert said in error
    assert "fix: " in error


def refused(variables: dict[str, str], said: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NPU_OVERLAYS_")}
    environment = {**kept, **variables, "PYTHONPATH": str(ROOT / "lab")}
    command = [sys.executable, "-m", "proof"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "fix: " in done.stderr


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("requires", "verl"),
    [
        (["numpy>=2", "transformers<5.11,>=5.5.3"], "verl@0.9.1"),
        (["numpy<2.0.0", "transformers"], "verl@bec9ef7"),
        (["numpy<2.0.0", "transformers<4.57"], "verl@796871d"),
        # What nothing here needs, or only an extra asks for, is not installed, or at another version.
        (["wandb>=9", 'transformers==5.9.0; extra == "vllm"'], "verl@0.9.1"),
    ],
)
def test_a_port_of_verl_runs_in_the_newest_environment_that_fits(requires: list[str], verl: str) -> None:
    assert fitting_stack(requires).verl == verl


@pytest.mark.usefixtures("installed")
def test_a_port_of_verl_that_fits_no_environment_is_refused_with_what_contradicts() -> None:
    with pytest.raises(OverlayError, match=r"verl@0\.9\.1: transformers>=6 \(there is 5\.10\.4\); verl@bec9ef7: "):
        fitting_stack(["transformers>=6"])


@pytest.mark.usefixtures("installed")
def test_tests_of_verl_of_which_none_passes_over_upstream_show_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Verdict(passed=0, imported=0, differences=())
    monkeypatch.setattr(Laboratory, "tried", lambda *_: nothing)
    with pytest.raises(OverlayError, match="none of verl's own tests passes without the port"):
        differences_of_upstreams(fitting_stack(["transformers"]), tmp_path)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the environment of each stack hold nothing but names and versions."""

    def environment(stack: Stack) -> Torch:
        old = "4.55.4" if stack.verl == "verl@796871d" else "4.57.6"
        versions = {"verl@0.9.1": {"numpy": "2.2", "transformers": "5.10.4"}}
        packages = tmp_path / stack.verl / "lib/python3/site-packages"
        for name, version in versions.get(stack.verl, {"numpy": "1.26", "transformers": old}).items():
            info = packages / f"{name}-{version}.dist-info"
            info.mkdir(parents=True, exist_ok=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        return Torch(tmp_path / stack.verl)

    monkeypatch.setattr(Stack, "environment", environment)


@pytest.mark.parametrize(
    ("said", "retired"),
    [
        ("failed: ImportError: cannot import name 'workers' from 'verl'", "verl.workers"),
        ("failed: ModuleNotFoundError: No module named 'verl.actor'", "verl.actor"),
        # Both have it, the overlay is to add it, or it is no module: the port may be at fault.
        ("failed: ImportError: cannot import name 'device' from 'verl'", ""),
        ("failed: ModuleNotFoundError: No module named 'verl.npu'", ""),
        ("failed: ImportError: cannot import name 'get_device' from 'verl.device'", ""),
        ("failed: AssertionError: assert 'verl.actor' in modules", ""),
    ],
)
def test_only_a_case_that_imports_what_upstream_removed_is_left_out(said: str, retired: str, tmp_path: Path) -> None:
    for path in ("older/verl/workers/__init__.py", "older/verl/actor.py", "older/verl/device.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    (tmp_path / "newer/verl").mkdir(parents=True)
    (tmp_path / "newer/verl/device.py").touch()
    assert retired_module(said, tmp_path / "older", tmp_path / "newer") == retired
