"""The proof of a port: it refuses overlays that it cannot prove."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMED = {"NPU_OVERLAYS_ROOT": str(ROOT / "overlays"), "NPU_OVERLAYS_WHEELS": str(ROOT / "nowhere")}


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "NPU_OVERLAYS_NAME, NPU_OVERLAYS_ROOT, NPU_OVERLAYS_WHEELS: not set"),
        ({**NAMED, "NPU_OVERLAYS_NAME": "verl@0.9.1"}, "verl@0.9.1: only ports of transformers can be proven"),
        ({**NAMED, "NPU_OVERLAYS_NAME": "transformers@1.0"}, "transformers@1.0: no such overlay"),
        ({**NAMED, "NPU_OVERLAYS_NAME": "transformers@5.10.4"}, "holds no wheel"),
    ],
    ids=["by hand", "another project", "unknown", "not built"],
)
def test_unprovable_ports_are_refused_with_a_fix(variables: dict[str, str], said: str) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NPU_OVERLAYS_")}
    environment = {**kept, **variables, "PYTHONPATH": str(ROOT / "lab")}
    command = [sys.executable, "-m", "proof"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "fix: " in done.stderr
