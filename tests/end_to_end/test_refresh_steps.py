"""`refresh --lock --check --revise --build`, run: one command for one change, all or nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from npu_overlays.overlay.revisions import read_revisions
from support.overlays import edit
from support.wheels import contents

from .sample import Sample
from .test_checkout import checked_out, files, git

pytestmark = pytest.mark.slow

CORE = "src/lib/core.py"
OPERATOR = "import torch\n\n        return torch.ops.npu.npu_stop(self)"


@pytest.fixture
def folder(sample: Sample, tmp_path: Path) -> Path:
    """Return a checkout of the sample in which one function was edited."""
    folder = checked_out(sample, tmp_path / "checkout")
    edit(folder / CORE, 'return "upstream " + name', 'return "first " + name')
    return folder


def written(sample: Sample) -> dict[Path, tuple[bytes, int]]:
    """Return the content and the mode of every file in the folder of overlays."""
    found = filter(Path.is_file, sample.overlays.rglob("*"))
    return {file: (file.read_bytes(), file.stat().st_mode) for file in found}


def command(sample: Sample, folder: Path, *arguments: str | Path) -> tuple[str | Path, ...]:
    return ("refresh", sample.lib_name, folder, *arguments, "--why", "It is new.", "--overlays", sample.overlays)


def steps(sample: Sample, folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """Return what a refresh reports of the steps behind it."""
    done = sample.environment.ok(*command(sample, folder, *arguments, "--json"))
    found: dict[str, Any] = json.loads(done.out).get("steps", {})
    return found


def refused(sample: Sample, folder: Path, *arguments: str | Path, code: int, **more: Any) -> str:
    """See that a refresh ends with a code and changes no overlay and no work tree, and return its message."""
    before, tree = written(sample), files(folder)
    done = sample.environment.cli(*command(sample, folder, *arguments), **more)
    assert done.code == code, done.out + done.err
    assert (written(sample), files(folder)) == (before, tree)
    assert done.out == ""
    return " ".join(done.err.split())


def test_one_command_writes_locks_checks_revises_and_builds(sample: Sample, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = steps(sample, folder, "--revise", "--build", "--out", out)
    assert list(found) == ["lock", "check", "revise", "build"]
    assert (found["lock"]["written"], found["check"][0]["overlay"]["name"]) == (True, sample.lib_name)
    # app was as its last revision, which names the revision of lib.
    assert found["revise"] == [{"overlay": name, "revision": 2} for name in (sample.lib_name, sample.app_name)]
    assert read_revisions(sample.lib_overlay)[-1].why == "It is new."
    version = sample.lib_version.replace("npu.1.", "npu.2.")
    assert sorted(file.name for file in out.glob("*.whl")) == sorted(
        [f"lib-{version}-py3-none-any.whl", f"lib_npu-{version}-py3-none-any.whl"]
    )
    assert found["build"][0]["wheel"] == str(out / f"lib_npu-{version}-py3-none-any.whl")
    for done in (("lock", "--check"), ("check",), ("refresh", folder)):
        name, *rest = done
        sample.environment.ok(name, sample.lib_name, *rest, "--overlays", sample.overlays)
    assert git(sample, folder, "status", "--porcelain") == ""


def test_once_more_changes_nothing_and_the_checkout_stays_one_of_the_overlay(
    sample: Sample, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    steps(sample, folder, "--revise", "--build", "--out", out)
    before, wheels = written(sample), contents(out)
    said = sample.environment.ok(*command(sample, folder, "--revise", "--build", "--out", out)).out
    assert (written(sample), contents(out)) == (before, wheels)
    assert "nothing to bring back" in said
    assert "every overlay is as its last revision" in said
    assert "(up to date)" in said


def test_a_revision_of_what_was_refreshed_before_leaves_the_checkout_usable(sample: Sample, folder: Path) -> None:
    sample.environment.ok(*command(sample, folder))
    assert steps(sample, folder, "--revise")["revise"][0] == {"overlay": sample.lib_name, "revision": 2}
    edit(folder / CORE, '"first " + name', '"second " + name')
    sample.environment.ok(*command(sample, folder))


def test_a_step_takes_those_before_it_along_but_no_revision(sample: Sample, folder: Path, tmp_path: Path) -> None:
    assert steps(sample, folder) == {}
    assert list(steps(sample, folder, "--check")) == ["lock", "check"]
    found = steps(sample, folder, "--build", "--out", tmp_path / "out")
    assert list(found) == ["lock", "check", "build"]
    assert found["build"][0]["development"]
    assert read_revisions(sample.lib_overlay)[-1].number == 1


def test_the_report_has_a_line_for_each_step(sample: Sample, folder: Path) -> None:
    said = sample.environment.ok(*command(sample, folder, "--build"), cwd=sample.folder).out
    name = sample.lib_name
    expected = (
        f"{name}: 1 file refreshed",
        f"{name}: written, 10 contracts",
        f"{name}: 13 changes in 6 files, as declared",
    )
    places = [said.find(text) for text in (*expected, f"{sample.folder}/wheels/lib_npu-1.2.3+npu.1.")]
    assert -1 not in places, said
    assert places == sorted(places)
    assert "npu-overlays lock" not in said


def test_a_lock_that_cannot_be_made_undoes_the_refresh(sample: Sample, folder: Path) -> None:
    shutil.rmtree(sample.environment.cache / "archives")
    empty = str(sample.overlays)
    said = refused(sample, folder, "--lock", "--source", "git", code=4, PIP_FIND_LINKS=empty)
    assert "the step `lock` failed, so nothing was written" in said
    assert "without --lock the overlay is written, to edit" in said


def test_a_check_that_refuses_undoes_refresh_and_lock(sample: Sample, folder: Path) -> None:
    """A new operation names an operator that no test saw it call."""
    edit(folder / CORE, 'return "stopped at once"', OPERATOR)
    said = refused(sample, folder, "--lock", "--revise", "--build", code=5)
    assert "no test saw it call npu.npu_stop" in said
    assert "the step `check` failed, so nothing was written" in said
    assert "without --revise --build the overlay is written, to edit" in said
    steps(sample, folder, "--lock")


def test_wheels_that_cannot_be_written_undo_the_revisions(sample: Sample, folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    version = sample.lib_version.replace("npu.1.", "npu.2.")
    (out / f"lib_npu-{version}-py3-none-any.whl").write_bytes(b"other bytes")
    said = refused(sample, folder, "--revise", "--build", "--out", out, code=6)
    assert "the step `build` failed, so nothing was written" in said
    assert [file.name for file in out.iterdir()] == [f"lib_npu-{version}-py3-none-any.whl"]
    (out / f"lib_npu-{version}-py3-none-any.whl").unlink()
    assert steps(sample, folder, "--revise", "--build", "--out", out)["revise"][0]["revision"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--why", "w", "--dry-run", "--lock", "--build"), "--dry-run: writes nothing, and --lock --build would"),
        (("--revise",), "--revise: needs the reason of the revision"),
        (("--why", "w", "--out", "x"), "--out: says where wheels go, and none are built"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    sample: Sample, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    before, tree = written(sample), files(folder)
    done = sample.environment.cli("refresh", sample.lib_name, folder, *arguments, "--overlays", sample.overlays)
    assert (done.code, message in done.err) == (2, True), done.err
    assert (written(sample), files(folder)) == (before, tree)
