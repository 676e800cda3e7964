"""Several overlays at once: the same bytes, one fetch, and one that cannot be built leaves the others as they are."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from support.wheels import contents, record_problems_below

from .refusals import build, out, refused
from .sample import Sample


def broken(sample: Sample) -> str:
    """Break the overlay of app, and return what is said of that."""
    file = sample.app_overlay / "tree/app/__init__.py"
    file.write_bytes(file.read_bytes().replace(b"def run", b"def runs"))
    return "runs"


@pytest.mark.parametrize("option", ["--all", "--jobs=1"])
def test_a_table_says_what_came_of_each(sample: Sample, wheels: Path, option: str) -> None:
    shutil.copytree(wheels, out(sample))
    done = build(sample, option)
    lines = done.out.splitlines()
    assert (done.code, lines[0].split()) == (0, ["overlay", "outcome", "seconds", "wheel"])
    listed = {line.split()[0]: line for line in lines[1:3]}
    assert listed.keys() == {sample.lib_name, sample.app_name}
    assert all(" up to date " in line and line.endswith(".whl") for line in listed.values())
    assert lines[3] == "2 up to date"


def test_one_that_cannot_be_built_leaves_the_others_as_they_are(sample: Sample, wheels: Path) -> None:
    said = broken(sample)
    done = build(sample, "--all", "--keep-going", "--json")
    assert done.code == 5, done.err
    outcomes = {one["overlay"]: one for one in done.json()}
    assert outcomes[sample.lib_name]["outcome"] == "built"
    assert outcomes[sample.app_name]["outcome"] == "failed"
    assert any(said in problem["what"] for problem in outcomes[sample.app_name]["problems"])
    assert said in done.err
    made = contents(out(sample))
    assert all(made[name] == content for name, content in contents(wheels).items() if name.startswith("lib"))
    assert not any(name.startswith("app") for name in made)


def test_else_none_is_written_and_how_to_build_the_others_is_said(sample: Sample) -> None:
    said = broken(sample)
    refused(sample, build(sample, "--all"), 5, said, "1 of 2 overlays cannot be built", "--keep-going")


def test_an_overlay_that_cannot_be_read_leaves_the_others_as_they_are(sample: Sample, wheels: Path) -> None:
    shutil.copytree(wheels, out(sample))
    (sample.overlays / "other@0000000").mkdir()
    (sample.overlays / "other@0000000" / "pyproject.toml").write_text("[")
    done = build(sample, "--all", "--keep-going")
    assert (done.code, done.out.splitlines()[4]) == (3, "2 up to date, 1 failed")
    assert "other@0000000" in done.err


def test_what_cannot_be_a_number_of_jobs_is_refused(sample: Sample) -> None:
    refused(sample, build(sample, "--jobs", "0"), 2, "`0` is neither a number from 1 on nor auto")


@pytest.mark.thorough
def test_several_at_once_give_the_same_bytes(sample: Sample, wheels: Path) -> None:
    done = build(sample, "--all", "--jobs", "2", "--source", "git")
    assert done.code == 0, done.err
    assert contents(out(sample)) == contents(wheels)
    assert done.out.splitlines()[3] == "2 built"


@pytest.mark.thorough
def test_what_is_wrong_with_each_of_several_at_once_is_said(sample: Sample) -> None:
    said = broken(sample)
    refused(sample, build(sample, "--all", "--jobs", "2"), 5, said, "1 of 2 overlays cannot be built")
    done = build(sample, "--all", "--jobs", "2", "--keep-going")
    assert (done.code, done.out.splitlines()[3]) == (5, "1 failed, 1 built")
    assert record_problems_below(out(sample)) == []


@pytest.mark.thorough
def test_upstream_is_fetched_once(sample: Sample) -> None:
    for part in ("overlays", "stacks"):
        shutil.copytree(sample.folder / part, sample.folder / "twin" / part)
    twin = sample.folder / "twin" / "overlays" / sample.lib_name
    trace = sample.folder / "trace"
    shutil.rmtree(sample.environment.cache)
    done = build(sample, sample.lib_name, twin, "--jobs", "2", "--source", "git", GIT_TRACE=str(trace))
    assert done.code == 0, done.err
    assert trace.read_text("utf-8", "replace").count("built-in: git fetch") == 1


@pytest.mark.thorough
def test_a_process_that_is_killed_is_one_that_failed(sample: Sample) -> None:
    """The worker is known by its parent and by the pipe in its command line."""
    command = [sys.executable, "-m", "npu_overlays", "build", "--overlays", str(sample.overlays), "--out", "out"]
    with subprocess.Popen(
        [*command, "--all", "--jobs", "2", "--keep-going"],
        cwd=sample.folder,
        env=sample.environment.variables(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (workers := _workers(process.pid)):
            time.sleep(0.005)
        os.kill(workers[0], signal.SIGKILL)
        said, told = process.communicate()
    assert process.returncode == 1, told
    assert "the process that built it ended before it was done: SIGKILL" in told
    assert said.splitlines()[3] in ("1 built, 1 failed", "1 failed, 1 built")
    assert record_problems_below(out(sample)) == []
    assert not [path for path in out(sample).iterdir() if path.is_dir()]


def _workers(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text("utf-8").split()
    return [int(child) for child in children if b"npu_overlays.worker_pool" in _command(child)]


def _command(process: str) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
