"""`make ci`: the jobs of the workflows, in fresh clones on this machine."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
import yaml

from environments.pythons import RUNNING
from support.environment import Done, Environment
from support.overlays import write_overlay
from support.pythons import some_python

from .conftest import ROOT

pytestmark = pytest.mark.slow

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CELL = f"demo@0123456-py{RUNNING}"
MAKEFILE = """\
wheels:
	@echo wheels of $(OVERLAY) by $(PYTHON); test -z "$$MAKELEVEL" -o "$$MAKELEVEL" = 1; test ! -e uncommitted
test-quick lint types test-all coverage:
	@echo $@; touch left-behind; test "$(FAILING)" != $@
"""


@pytest.fixture
def checkout(environment: Environment) -> Environment:
    """Return a repository with one overlay, our workflows, and a Makefile that only says what it is asked for."""
    folder = environment.folder / "checkout"
    for name in ("ci/local.py", ".github/workflows/ci.yml", ".github/workflows/cells.yml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "Makefile").write_text(MAKEFILE, "utf-8")
    (folder / ".gitignore").write_text(".cache\n", "utf-8")
    write_overlay(
        folder / "overlays",
        project="demo",
        commit=COMMIT,
        repository="https://example.invalid/demo",
        packages=["demo"],
        files={},
    )
    for arguments in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "--message", "all")):
        environment.succeed("git", *arguments, cwd=folder)
    return environment


def local(checkout: Environment, *arguments: str, **variables: str) -> Done:
    """Run it in the repository, with the Python of the tests."""
    own = {"PYTHONPATH": str(ROOT / "lab"), **variables}
    return checkout.run(sys.executable, "ci/local.py", *arguments, cwd=checkout.folder / "checkout", **own)


def test_the_jobs_are_those_of_the_workflow(checkout: Environment) -> None:
    names = local(checkout, "--list").out.splitlines()
    listed = checkout.ok("matrix", cwd=checkout.folder / "checkout").json()["include"]
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))["jobs"]
    others = [job["name"].replace(" ", "-") for job in jobs.values() if "steps" in job and "outputs" not in job]
    assert names == [*(cell["name"].replace(" ", "-") for cell in listed), *others]
    assert "lint" in names


def test_a_cell_runs_its_steps_in_a_fresh_clone_and_the_table_says_so(checkout: Environment) -> None:
    folder = checkout.folder / "checkout"
    (folder / "uncommitted").touch()
    done = local(checkout, CELL, OVERLAY="another", MAKEFLAGS="n", MAKELEVEL="3")
    assert done.code == 0, done.out + done.err
    assert "What is not committed" in done.err
    heading, row = done.out.splitlines()
    assert heading.split() == ["job", "outcome", "minutes", "output"]
    assert row.split()[:2] == [CELL, "passed"]
    log = (folder / ".cache" / "ci" / f"{CELL}.log").read_text("utf-8")
    assert "wheels of demo@0123456 by " in log
    assert log.index("$ make wheels\n") < log.index("$ make test-quick\n")
    assert not (folder / "left-behind").exists()


def test_a_step_that_fails_ends_its_job_and_no_other(checkout: Environment) -> None:
    some_python("3.12")  # on which the workflow runs it
    done = local(checkout, CELL, "lint", FAILING="test-quick")
    assert done.code == 1
    first, second = (line.split() for line in done.out.splitlines()[1:])
    assert (*first[:2], " ".join(first[2:4])) == (CELL, "failed:", "make test-quick")
    assert second[:2] == ["lint", "passed"]


def test_words_pick_jobs(checkout: Environment) -> None:
    for word, expected in {"lint": 1, "demo@0123456": 4, "py3.12": 1, "*-py3.1?": 4}.items():
        assert len(local(checkout, "--list", word).out.splitlines()) == expected, word


def test_a_word_that_fits_no_job_is_refused_with_those_that_there_are(checkout: Environment) -> None:
    done = local(checkout, "verl")
    assert done.code == 2
    assert "no job fits verl; there are: demo@0123456-py3.10" in done.err


def test_only_what_a_change_touches(checkout: Environment) -> None:
    (checkout.folder / "checkout" / "README.md").touch()
    names = local(checkout, "--list", "--changed-since", "HEAD").out.splitlines()
    assert names == ["lint", "all-tests"]


def test_a_job_whose_python_is_not_here_is_no_success(checkout: Environment, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("git", "make", "bash"):
        (tools / name).symlink_to(str(shutil.which(name)))
    other = next(version for version in ("3.13", "3.10") if version != RUNNING)
    done = local(checkout, f"demo@0123456-py{other}", PATH=str(tools), PYENV_ROOT=str(tmp_path))
    assert done.code == 1
    assert f"no Python {other} here" in done.out
