"""A run that must end in time begins no test too late, says which, and takes them in an order of each commit's own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1]
# A clock that only tests move on.
CONFTEST = """
import types
import support.minutes
from support.minutes import *

clock = types.SimpleNamespace(now=0.0)
support.minutes.time = types.SimpleNamespace(monotonic=lambda: clock.now)
"""
TESTS = """
import pytest
from conftest import clock

@pytest.fixture
def costly():
    print("costly fixture")

@pytest.mark.parametrize("number", range(9))
def test_of_a_minute(costly, number):
    print("ran", number)
    clock.now += 60
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_nine.py").write_text(TESTS)
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    """Return what pytest says."""
    command = [sys.executable, "-m", "pytest", "-s", "-p", "no:cacheprovider", "-p", "no:cov", *arguments]
    done = subprocess.run(
        command, cwd=folder, env={"PYTHONPATH": str(SUPPORT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def order(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"ran (\d)", text)]


def test_everything_is_run_where_there_is_time(folder: Path) -> None:
    said = run(folder, "--minutes", "10")

    assert order(said) == list(range(9))
    assert "not begun" not in said


def test_what_is_too_late_is_skipped_before_its_fixtures_and_listed(folder: Path) -> None:
    said = run(folder, "--minutes", "3.5")

    assert order(said) == [0, 1, 2, 3]
    assert said.count("costly fixture") == 4
    listed = said.partition("5 tests not begun")[2]
    assert re.findall(r"^test_nine.py::test_of_a_minute\[(\d)\]$", listed, re.MULTILINE) == list("45678")


@pytest.mark.slow
def test_each_turn_has_an_order_and_keeps_it(folder: Path) -> None:
    first, again, other = (order(run(folder, "--turn", turn)) for turn in ("a", "a", "b"))

    assert first == again
    assert first != other
    assert sorted(first) == sorted(other) == list(range(9))
