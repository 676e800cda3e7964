"""What `make bench` measured is printed as it is measured, and what it cannot measure costs nothing of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
import subprocess
import sys

import run
from environments import Unavailable
from figures import Figure

LONG = "7 sets 0.77 to 1.04, upstream beside itself 0.94 to 1.02, " * 3


def figures():
    yield Figure(what="training step", value=1.234, unit="×", goal=1.02, detail=LONG)
    raise subprocess.CalledProcessError(1, ["pip", "install"], b"", b"")


def fails(error):
    raise error
    yield


run.parts = lambda work, repeats, told: {
    "models": figures,
    "audit": lambda: fails(Unavailable("no Python here can install torch")),
    "index": lambda: fails(IndexError("list index out of range")),
    "matrix": lambda: iter([Figure(what="cells", value=0.5, unit="s", goal=1, detail="medians")]),
}
sys.argv = ["run.py", *sys.argv[1:]]
sys.exit(run.main())
"""
NOT_MEASURED = (
    "models: not measured: CalledProcessError: Command '['pip', 'install']' returned non-zero exit status 1.",
    "audit: not measured: no Python here can install torch",
    "index: not measured: IndexError: list index out of range",
)


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((str(ROOT / "bench"), str(ROOT / "lab"), *sys.path))
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False)


def test_each_figure_is_a_line_and_what_fails_is_named_with_its_cause() -> None:
    done = bench()
    first, second = done.stdout.splitlines()
    assert first.startswith("training step: 1.23 ×, goal ≤ 1.02 ×: missed (7 sets 0.77 to 1.04, ")
    assert second == "cells: 0.50 s, goal ≤ 1 s: met (medians)"
    assert tuple(done.stderr.splitlines()) == NOT_MEASURED
    assert done.returncode == 1


def test_all_is_measured_where_nothing_fails() -> None:
    done = bench("--only", "matrix", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert '"verdict": "met"' in done.stdout
