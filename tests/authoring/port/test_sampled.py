"""`make sampled`: upstream's own tests and ours tell a proposal that is wrong from one that is right."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from authoring.port.moving_upstream import Moving, make_moving
from authoring.port.test_port import say
from end_to_end.sample import CORE, LIB_OVERLAY
from environments import ROOT
from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.sources.pin import Pin
from sampled.known_failures import Reason
from sampled.our_cases import Between
from sampled.ported_overlay import Ported
from sampled.verdict import judge
from support.environment import Done
from support.upstreams import make_repository
from verl_tests import PATCHED, UPSTREAM

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
    assert f"{moving.clone} could not be reached; " in done.err


@pytest.mark.parametrize(
    ("ported", "holds", "why"),
    [
        ({"left": ("core.py:stop: find gone: it is not there",)}, False, "core.py:stop: find gone: it is not there"),
        ({"marked": ("core.py:stop: body changed: by 123",)}, False, "core.py:stop: body changed: by 123"),
        ({"accepted": ("core.py:stop: absorbed: drop",)}, False, "core.py:stop: absorbed: drop"),
        ({}, True, "123456789 renames what it calls"),
        # What is carried out by itself, or is another operation, is no reason to fail.
        ({"accepted": ("core.py:stop: renamed: retarget halt",)}, False, ""),
        ({"left": ("core.py:stopped: find gone: it is not there",)}, False, ""),
        ({}, False, ""),
    ],
)
def test_a_case_of_ours_may_fail_only_where_a_person_has_to_look_or_upstream_moved_what_it_calls(
    ported: dict[str, tuple[str, ...]], holds: bool, why: str
) -> None:
    none: dict[str, tuple[str, ...]] = {"accepted": (), "left": (), "marked": (), "problems": (), "changed": ()}
    reasons = [
        Reason(cases="npu: core.*", operation="core.py:stop"),
        Reason(cases="npu: core.*", says="no attribute", since="1234567890", why="renames what it calls"),
    ]
    before = {"npu: core.stops[a]": "passed", "cpu: core.starts": "passed", "cpu: core.waits": "failed: never did"}
    after = {
        "npu: core.stops[a]": "failed: no attribute",
        "cpu: core.starts": "passed",
        "cpu: core.waits": "failed: no",
    }
    said = judge(before, after, reasons, Ported(name="lib@1", fitting=1, **none | ported), lambda _: holds)
    assert said.passed == 1
    never = {"fail over the overlay that was ported, too, in this environment": ("cpu: core.waits",)}
    assert said.explained == never | ({why: ("npu: core.stops[a]",)} if why else {})
    assert said.failed == (() if why else ("npu: core.stops[a]: failed: no attribute",))


def none_holds(_: Reason) -> bool:
    return False


WHO = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
IDENTITY = {f"GIT_{one}": "jane@example.invalid" for one in WHO}


def test_a_commit_is_a_reason_from_there_on_and_a_new_file_where_the_port_leaves_it_as_it_is(tmp_path: Path) -> None:
    upstream = make_repository(tmp_path / "upstream", lambda: {**os.environ, **IDENTITY})
    base, moved, last = (upstream.commit({f"src/lib/{name}.py": name.encode()}) for name in ("core", "train", "more"))
    pin = Pin(project="lib", commit=base, packages=("src/lib",))
    trees = tmp_path / "trees"
    for tree in (UPSTREAM, PATCHED):
        (trees / tree / "lib").mkdir(parents=True)
        for name in ("core", "train"):
            (trees / tree / f"lib/{name}.py").write_text(name)
    past = UpstreamHistory(repository=upstream.path / ".git")
    between = Between(past=past, pin=pin, commit=last, trees=trees)
    assert between.holds(Reason(cases="*", since=moved))
    assert not between.holds(Reason(cases="*", since=base))
    assert not replace(between, commit=base).holds(Reason(cases="*", since=moved))
    new, old, absent = (Reason(cases="*", added=f"src/lib/{name}.py") for name in ("train", "core", "gone"))
    assert between.holds(new)
    assert not between.holds(old)
    assert not between.holds(absent)
    (trees / PATCHED / "lib/train.py").write_bytes(b"trains")
    assert not between.holds(new)


def test_a_case_of_ours_that_skips_itself_over_a_port_or_is_not_there_is_told_of() -> None:
    ported = Ported(name="lib@1", fitting=1, accepted=(), left=(), marked=(), problems=(), changed=())
    before = {"cpu: core.starts": "passed", "cpu: core.stops": "passed", "cpu: core.waits": "skipped: not yet"}
    after = {"cpu: core.starts": "skipped: no engine", "cpu: core.new": "failed: no", "cpu: core.waits": "failed: no"}
    said = judge(before, after, [], ported, none_holds)
    assert said.passed == 0
    assert said.explained == {"skipped: no engine": ("cpu: core.starts",)}
    assert said.failed == ("cpu: core.stops: is not there", "cpu: core.new: failed: no", "cpu: core.waits: failed: no")
    whole = judge(before, {"cpu: core": "skipped: no core"}, [], ported, none_holds)
    assert whole.explained == {"skipped: no core": ("cpu: core.starts", "cpu: core.stops")}
    one = judge({"cpu: core.runs[a]": "passed"}, {"cpu: core.runs[b]": "passed"}, [], ported, none_holds)
    assert one.explained == {"skipped: what it is of is gone": ("cpu: core.runs[a]",)}
