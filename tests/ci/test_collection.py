"""While workers import the tests, a terminal counts the seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.terminal import on_terminal

SUPPORT = Path(__file__).parents[1]
TEST = """
import time

time.sleep(1.5)

def test_nothing():
    pass
"""
COMMAND = (sys.executable, "-m", "pytest", "-p", "support.collection", "-p", "no:cacheprovider", "-p", "no:cov", "-n1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_slow_import.py").write_text(TEST)
    return tmp_path


def test_a_terminal_counts_seconds_until_the_tests_are_collected(folder: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SUPPORT), "TERM": "xterm"}
    code, shown = on_terminal(COMMAND, cwd=folder, env=variables)
    assert code == 0, shown
    assert "collecting the tests: 1 s" in shown.partition("1 passed")[0]


def test_a_pipe_gets_none_of_it(folder: Path) -> None:
    done = subprocess.run(
        COMMAND, cwd=folder, env={"PYTHONPATH": str(SUPPORT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "collecting the tests" not in done.stdout
