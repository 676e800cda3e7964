"""`make sampled`: upstream's own tests tell a proposal that is wrong from one that is right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from end_to_end.sample import CORE, LIB_OVERLAY
from environments import ROOT
from porting.moving import Moving, make_moving
from porting.test_port import say
from support.environment import Done

# pytest-timeout is not installed here.
CONFTEST = b"def pytest_addoption(parser): parser.addoption('--timeout')\n"
TESTS = b"""
from lib.core import Engine, describe

def test_describe():
    assert describe("it") == "upstream it"

def test_what_the_engine_says():
    assert not hasattr(Engine, "status") or Engine().status() == "stopped"
"""


@pytest.fixture
def moving(shared: Path, tmp_path: Path) -> Moving:
    return make_moving(shared, "ported", say, tmp_path)


def sampled(moving: Moving, *arguments: str) -> Done:
    command = (sys.executable, "-m", "sampled", "--overlays", moving.root, "--python", sys.executable)
    lab, clone = str(ROOT / "lab"), str(moving.clone)
    return moving.sample.environment.run(*command, *arguments, PYTHONPATH=lab, LIB_PATH=clone)


# Three ports, and upstream's tests eight times.
@pytest.mark.slow
@pytest.mark.thorough
def test_a_proposal_that_is_wrong_is_told_from_one_that_is_right(moving: Moving) -> None:
    """What was `stop` is still there, then it is `halt`, and then gone, and what is like it is something else."""
    assert b"def stop" in CORE
    assert b"def stop" in b"".join(LIB_OVERLAY.values())
    first = moving.commit("tests", {"tests/conftest.py": CONFTEST, "tests/test_core_on_cpu.py": TESTS})
    none = moving.commit("notes", {"README.md": b"# lib\n\nMore.\n"})
    right = moving.commit("rename stop", {"src/lib/core.py": CORE.replace(b"def stop", b"def halt")})
    wrong = moving.commit("tell what it does", {"src/lib/core.py": CORE.replace(b"def stop", b"def status")})
    done = sampled(moving, "--range", f"{moving.name}={first}..{wrong}", "--json")
    assert done.code == 1, done.out + done.err
    found = done.json()
    verdicts = [(none, 2, True), (right, 2, True), (wrong, 2, False)]
    assert [(one["commit"], one["passed"], one["right"]) for one in found] == verdicts
    assert [one["accepted"] for one in found[1:]] == [
        [f"src/lib/core.py:Engine.stop: renamed: retarget src/lib/core.py:Engine.{name}"] for name in ("halt", "status")
    ]
    assert found[0]["accepted"] == []
    (difference,) = found[2]["differences"]
    assert difference.startswith("tests.test_core_on_cpu.test_what_the_engine_says: passed -> failure")


def test_where_no_repository_answers_it_says_so(moving: Moving) -> None:
    moving.clone.rename(moving.clone.with_name("elsewhere"))
    done = sampled(moving, "--range", f"{moving.name}={'1' * 40}..{'2' * 40}")
    assert done.code == 2
    assert f"not found in {moving.clone}" in done.err
