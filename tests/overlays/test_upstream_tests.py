"""The comparison of upstream's own tests: only tests that differ twice count, not flaky ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from upstream_tests import Side, Suite, compare, passed

pytestmark = pytest.mark.slow

TESTS = """
import os, pathlib, pytest
import thing

def test_holds():
    assert thing.VALUE

class TestPatched:
    def test_upstreams_value(self):
        assert thing.VALUE == 1

@pytest.mark.parametrize("home", [os.environ["HOME"]])
def test_named_by_its_home(home):
    pass

def test_of_luck():
    ran = pathlib.Path(os.environ["RAN"])
    first = not ran.exists() and thing.VALUE == 2
    if first:
        ran.touch()
    assert not first
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    tests = tmp_path / "checkout" / "tests"
    tests.mkdir(parents=True)
    # pytest-timeout is not installed here.
    (tests / "conftest.py").write_text("def pytest_addoption(parser): parser.addoption('--timeout')\n")
    (tests / "test_thing.py").write_text(TESTS)
    (tests / "test_other.py").write_text("def test_other(): pass\n")
    # None of the plugins that our own tests need: loading them takes longer than these tests.
    variables = {"RAN": str(tmp_path / "ran"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return Suite(checkout=tests.parent, arguments=("tests",), variables=variables)


def side(folder: Path, value: int) -> Side:
    folder.mkdir()
    (folder / "thing.py").write_text(f"VALUE = {value}\n")
    return Side(python=Path(sys.executable), links={}, packages=[folder])


def test_only_tests_that_differ_twice_count_and_only_their_files_are_run_again(suite: Suite, tmp_path: Path) -> None:
    outcomes, delta = compare(suite, side(tmp_path / "old", 1), side(tmp_path / "new", 2), tmp_path)

    failure = "passed -> failure assert"
    assert passed(outcomes) == 5
    assert delta == f"tests.test_thing.TestPatched.test_upstreams_value: {failure}; again {failure}"
    assert "test_other" in (tmp_path / "patched" / "report.xml").read_text()
    assert "test_other" not in (tmp_path / "patched-again" / "report.xml").read_text()


def test_nothing_is_run_again_where_nothing_differs(suite: Suite, tmp_path: Path) -> None:
    outcomes, delta = compare(suite, side(tmp_path / "old", 1), side(tmp_path / "new", 1), tmp_path)

    assert (passed(outcomes), delta) == (5, "")
    assert not (tmp_path / "patched-again").exists()
