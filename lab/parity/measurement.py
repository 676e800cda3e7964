"""A pin of transformers → its figures, of its installed wheel beside upstream's code."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import models

from environments import ROOT, Installations, torch_environment
from npu_overlays.contracts.lockfile import upstream_version
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_schemas import stack_versions
from parity.figures import Operators, Parity, PinFigures
from parity.report import Incomplete, parities

_CASES = ROOT / "tests" / "overlays" / "transformers" / "cases"

Told = Callable[[str], None]


def measure(name: str, work: Path, told: Told) -> PinFigures:
    """Build, install and measure one pin.

    Args:
        name: of its overlay.
        work: a folder in which it is built and installed.
        told: is told what is being done.

    Raises:
        Unavailable: its source or torch cannot be had.
        Incomplete: a case failed, or was not measured, or upstream's code launches fused operators.
        subprocess.CalledProcessError: something else went wrong.
    """
    told(f"{name}: building and installing it, and upstream's code")
    installations, torch = Installations(work / "npu"), torch_environment()
    installed, upstream = installations.install(torch, name), installations.upstream(torch, name)
    pythons = models.Environments(overlay=name, patched=installed.python, upstream=upstream.python)
    told(f"{name}: running every model")
    parity = _parity(pythons, work / name)
    told(f"{name}: counting operators")
    operators = {cost.family: _operators(cost) for cost in models.costs(pythons, lambda _: None)}
    version = upstream_version(find_overlay(ROOT / "overlays", name))
    return PinFigures(
        overlay=name, version=version, torch_npu=stack_versions(name)[-1], parity=parity, operators=operators
    )


def _parity(pythons: models.Environments, folder: Path) -> dict[str, Parity]:
    """Run the cases of whole models against what upstream's code computes on CPU; returns what they measured."""
    folder.mkdir()
    reference, report = folder / "upstream.pt", folder / "report.xml"
    _run(pythons.upstream, ROOT / "lab" / "tiny_models.py", reference)
    pytest = ("-m", "pytest", "-q", "-c", _CASES / "pytest.ini", "-o", "junit_family=xunit1", f"--junitxml={report}")
    variables = {"UPSTREAM_REFERENCE": str(reference), "EMULATED_TORCH_NPU": stack_versions(pythons.overlay)[-1]}
    # A case that fails is in the report, by its name.
    _run(pythons.patched, *pytest, _CASES / "test_models.py", allowed=(0, 1), **variables)
    return parities(report)


def _run(python: Path, *arguments: str | Path, allowed: tuple[int, ...] = (0,), **variables: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHON"))}
    command = [str(python), *map(str, arguments)]
    done = subprocess.run(
        command,
        env={**kept, "OMP_NUM_THREADS": "1", **variables},
        cwd=_CASES,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode not in allowed:
        raise subprocess.CalledProcessError(done.returncode, command, output=done.stdout)


def _operators(cost: models.Cost) -> Operators:
    (ours, upstream), (waits, of_upstream) = cost.operators, cost.waits
    if cost.fused[1]:
        raise Incomplete(f"{cost.family}: upstream's code launches fused operators, and the page says that it does not")
    return Operators(upstream=upstream, ours=ours, fused=cost.fused[0], waits=(of_upstream, waits))
