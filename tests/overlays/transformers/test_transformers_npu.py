"""The installed transformers-npu wheels on the emulated NPU: `cases/` runs in an environment with them and torch."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable
from npu_overlays.contracts.lockfile import load_lock
from npu_overlays.contracts.runtime_coverage import (
    FIRED_FILE,
    RuntimeCoverage,
    load_coverage,
    render_coverage,
    uncovered_operations,
)
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_schemas import recorded, stack_versions
from parity.report import parities
from proof.transformers_port import operators_by_statement
from support.parity import read_page

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
ROOT = HERE.parents[2]
# `make test` runs only the default stack's pin; the other pins share most of its code.
DEFAULT = "transformers@5.10.4"
RECORDING = "transformers@4.57.6"
PINS = [
    pytest.param("transformers@5.24.0", marks=[pytest.mark.index, pytest.mark.thorough]),
    pytest.param(DEFAULT, marks=pytest.mark.index),
    pytest.param("transformers@5.5.4", marks=[pytest.mark.index, pytest.mark.thorough]),
    pytest.param("transformers@4.57.6", marks=[pytest.mark.index, pytest.mark.thorough]),
    pytest.param("transformers@91393fe", marks=[pytest.mark.index, pytest.mark.thorough]),
    pytest.param("transformers@8365f70", marks=pytest.mark.upstream),
]
# Pins with experts of either kind, one tensor for all of them or a module each, and of either with every torch_npu that
# a stack names, and the newest: which operators there are, and what they can do, differs.
SERVED = {DEFAULT: ("grouped_mm", "experts"), "transformers@91393fe": ("moe",)}
# Other ways to change a model: adapters, kernels from the hub in the versions that transformers takes, and Liger's.
BESIDE = ("peft==0.21.2", "kernels>=0.12,<0.13", "liger-kernel==0.8.5")
# It lacks the operators of these cases; models run nevertheless.
CANDIDATE = "2.5.1rc1"


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


def _run_cases(python: Path, torch_npu: str, *arguments: str | Path, **variables: str) -> str:
    options = ("-m", "pytest", "-q", "-c", HERE / "cases" / "pytest.ini")
    return _run(python, *options, *arguments, EMULATED_TORCH_NPU=torch_npu, **variables)


@pytest.mark.parametrize("overlay", PINS)
def test_the_installed_wheel_equals_upstream_on_cpu_and_is_fused_on_npu(
    overlay: str, installations: Installations, torch_python: Torch, tmp_path: Path
) -> None:
    installed, upstream = _environments(installations, torch_python, overlay)
    reference, operations = tmp_path / "upstream.pt", tmp_path / "operations.json"
    content = _content(overlay)
    operations.write_text(json.dumps(operators_by_statement(content)), "utf-8")
    _run(upstream.python, ROOT / "lab" / "tiny_models.py", reference)
    # What tries the emulation alone is the same for every pin, and starts ranks four times; ranks that share parameters
    # are tried where records of hidden states depend on that.
    slow = {"collectives": overlay == DEFAULT, "sharded_towers": overlay != RECORDING}
    left_out = [f"--ignore={HERE / f'cases/test_{name}.py'}" for name, is_left_out in slow.items() if is_left_out]
    figures = tmp_path / "report.xml"
    # Cases that cost much are tried in a process of their own for that pin, and here for the others.
    quick = ("-m", "not thorough") if overlay == DEFAULT else ()
    options = (*left_out, *quick, "-o", "junit_family=xunit1", f"--junitxml={figures}")
    variables = {"UPSTREAM_REFERENCE": str(reference), "FIRED": str(operations)}
    report = _run_cases(installed.python, stack_versions(overlay)[-1], HERE / "cases", *options, **variables)
    assert " passed" in report
    assert "skipped" not in report, report
    assert ("deselected" in report) == (overlay == DEFAULT), report
    _compare(content, json.loads(operations.with_suffix(".seen").read_text("utf-8")))
    # The figures depend on the machine on which `make parity` ran.
    (page,) = (pin for pin in read_page((ROOT / "docs/parity.md").read_text("utf-8")) if pin.overlay == overlay)
    measured = parities(figures)
    assert measured.keys() == page.parity.keys()
    assert sum(one.cases for one in measured.values()) == sum(one.cases for one in page.parity.values())


@pytest.mark.index
@pytest.mark.thorough
def test_costly_cases_pass_over_the_default_pin(installations: Installations, torch_python: Torch) -> None:
    installed, _ = _environments(installations, torch_python, DEFAULT)
    report = _run_cases(installed.python, stack_versions(DEFAULT)[-1], HERE / "cases", "-m", "thorough")
    assert "6 passed" in report
    assert "skipped" not in report, report


def _content(name: str) -> Content:
    overlay = find_overlay(ROOT / "overlays", name)
    lock = load_lock(overlay)
    return load_content(overlay, lock.metadata.version, lock.forms)


def _compare(content: Content, called: dict[str, list[str]]) -> None:
    """Compare what each operation called with what the pin's folder says; WRITE_FIRED=1 writes it there."""
    fired = RuntimeCoverage(pin=content.overlay.pin.identity, called=called)
    file = content.overlay.folder / FIRED_FILE
    if os.environ.get("WRITE_FIRED"):
        file.write_text(render_coverage(fired), "utf-8")
    assert file.read_text("utf-8") == render_coverage(fired), "WRITE_FIRED=1 writes it anew; review it like code"
    assert list(uncovered_operations(content, load_coverage(content.overlay.folder))) == []


@pytest.mark.index
def test_with_peft_liger_and_hub_kernels_each_operator_has_one_owner(
    installations: Installations, torch_python: Torch
) -> None:
    installed, _ = _environments(installations, torch_python, DEFAULT)
    packages = installations.packages(torch_python, "beside", BESIDE, given=("transformers", "triton"))
    cases = HERE / "cases" / "test_beside.py"
    report = _run_cases(installed.python, stack_versions(DEFAULT)[-1], cases, PYTHONPATH=str(packages))
    assert "10 passed" in report


@pytest.mark.index
@pytest.mark.thorough
@pytest.mark.parametrize("version", recorded())
@pytest.mark.parametrize("overlay", SERVED)
def test_every_torch_npu_version_passes_the_cases(
    overlay: str, version: str, installations: Installations, torch_python: Torch
) -> None:
    installed, _ = _environments(installations, torch_python, overlay)
    names = ("emulation", "kernels", *SERVED[overlay], "flash_attention")
    options = [str(HERE / "cases" / f"test_{name}.py") for name in names]
    if version == CANDIDATE:
        options = [str(HERE / "cases" / "test_models.py"), "-k", "on_npu_fp32 or on_npu_half"]
    assert " passed" in _run_cases(installed.python, version, *options)
