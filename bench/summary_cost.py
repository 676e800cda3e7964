"""Wheels or an environment with torch → what the summary and its checks cost, beside bare work."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import build_cost
from measurements import Contender, Measurement, command, interleaved

from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import load_stacks

SUMMARY, BARE = "the summary", "python -c pass"
VERIFY, VERIFY_ALONE = "--verify on two cores", "--verify on one core"
DOCTOR, HASHING = "--doctor --no-import", "hashing the same files"
AUDIT, IMPORTING = "--audit", "importing the same modules"
DOCTORS = Path(__file__).resolve().parents[1] / "build_tools"
Told = Callable[[str], None]


def pair(root: Path) -> list[Overlay]:
    """Return the overlays of the default stack, which any machine can build."""
    stacks = load_stacks(root)
    return [find_overlay(root, name) for name in stacks.get(stacks.default)]


def measure(overlays: list[Overlay], work: Path, repeats: int, told: Told) -> dict[str, list[Measurement]]:
    """Return the samples of the summary, of the checks that need nothing but the wheels, and of bare work."""
    out, environment = work / "pair", work / "environment"
    for one in overlays:
        told(f"building {one.name}")
        command(*build_cost.build(one, out))()
    command(sys.executable, "-m", "venv", "--without-pip", environment)()
    pip = (sys.executable, "-m", "pip", "--python", environment, "install")
    command(*pip, "--no-deps", "--no-index", *out.glob("*.whl"))()
    command(*pip, DOCTORS)()
    python, package = environment / "bin" / "python", overlays[-1].summary_package
    (site,) = environment.glob("lib/python*/site-packages")
    folders = [site / name for one in overlays for name in (one.pin.project, one.summary_package)]
    contenders = {
        SUMMARY: Contender(run=command(python, "-m", package)),
        BARE: Contender(run=command(python, "-c", "pass")),
        VERIFY: Contender(run=command(python, "-m", package, "--verify", cores=2)),
        VERIFY_ALONE: Contender(run=command(python, "-m", package, "--verify", cores=1)),
        # Nothing is fit for an NPU here, and the doctor says so with 1.
        DOCTOR: Contender(run=command(python, "-m", package, "--doctor", "--no-import", codes=(0, 1, 2))),
        HASHING: Contender(run=command(python, Path(__file__).with_name("hashes.py"), *folders)),
    }
    return interleaved(contenders, repeats, told=told)


def measure_audit(python: Path, repeats: int, told: Told) -> tuple[int, dict[str, list[Measurement]]]:
    """Return how many modules an audit imports in an environment with torch, and the samples with and without it."""
    package = "transformers_npu_summary"
    shown = subprocess.run([python, "-m", package, "--format", "json"], check=True, capture_output=True)
    paths = [file["installed"] for one in json.loads(shown.stdout)["distributions"] for file in one["files"]]
    names = sorted({path.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for path in paths})
    contenders = {
        AUDIT: Contender(run=command(python, "-m", package, "--audit")),
        IMPORTING: Contender(run=command(python, "-c", f"import {', '.join(names)}")),
    }
    return len(names), interleaved(contenders, repeats, told=told)
