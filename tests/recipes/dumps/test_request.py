"""Naming: which file a process writes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from npu_recipes.dumps.dump_file import DumpManifest, Store
from npu_recipes.dumps.request import file_of
from npu_recipes.errors import RecipeError


@pytest.mark.parametrize(
    ("name", "environ", "file"),
    [
        ("a.npz", {}, "a.npz"),
        ("a.npz", {"RANK": "0", "WORLD_SIZE": "1"}, "a.npz"),
        ("a-{rank}.npz", {}, "a-pid{pid}.npz"),
        ("b/a-{rank}.npz", {"RANK": "3", "WORLD_SIZE": "4"}, "b/a-3.npz"),
    ],
)
def test_each_process_has_its_file(
    name: str, environ: dict[str, str], file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b").mkdir()
    assert file_of(name, f"--out {name}", environ) == tmp_path / file.format(pid=os.getpid())


def test_a_home_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_of("~/a.npz", "--out ~/a.npz", {}) == tmp_path / "a.npz"


def test_several_processes_do_not_write_one_file() -> None:
    with pytest.raises(RecipeError, match=r"fix: name one for each: a-\{rank\}\.npz"):
        file_of("a.npz", "--out a.npz", {"RANK": "0", "WORLD_SIZE": "2"})


def test_a_folder_that_is_not_there_is_said_before_a_model_runs(tmp_path: Path) -> None:
    name = f"{tmp_path}/absent/a.npz"
    with pytest.raises(
        RecipeError, match=rf"--out {name}: is in no folder\n    fix: make it: mkdir -p {tmp_path}/absent"
    ):
        file_of(name, f"--out {name}", {})


def test_what_another_process_has_written_meanwhile_stays(tmp_path: Path) -> None:
    file, own = tmp_path / "a-0.npz", tmp_path / f"a-0-pid{os.getpid()}.npz"
    file.write_text("of an earlier run", "utf-8")
    os.utime(file, (100, 100))

    def write(began: float) -> Path:
        store = Store(file, began)
        store.finish(DumpManifest(passages=(), begun=0, classes={}, made_by={}))
        return store.file

    assert (write(101.0), own.exists()) == (file, False)
    kept = file.read_bytes()
    assert write(101.0) == own
    assert (file.read_bytes(), own.exists()) == (kept, True)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CALLS", "two", "is no whole number\n    fix: give a whole number, such as 1"),
        ("CALLS", "0", "is too small\n    fix: give 1 or more"),
        ("CALLS", "-1", "is too small\n    fix: give 1 or more"),
        ("SKIP", "-1", "is too small\n    fix: give 0 or more"),
        ("ELEMENTS", "1e3", "is no whole number\n    fix: give a whole number, such as 65536"),
        ("ONLY", "layers.(0", "is no regular expression: missing )"),
    ],
)
def test_what_cannot_be_recorded_is_said_before_anything_is_trained(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    variables = {"NPU_RECIPES_DUMP": "a.npz", f"NPU_RECIPES_DUMP_{name}": value}
    program = [sys.executable, "-c", "import npu_recipes.dumps.everywhere\nprint('trained')"]
    done = subprocess.run(
        program, env={**os.environ, **variables}, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: NPU_RECIPES_DUMP_{name}={value}: {said}")


def test_several_processes_are_told_by_which_variable_they_would_write_one_file(tmp_path: Path) -> None:
    variables = {"NPU_RECIPES_DUMP": "a.npz", "RANK": "1", "WORLD_SIZE": "2"}
    done = subprocess.run(
        [sys.executable, "-c", "import npu_recipes.dumps.everywhere\nprint('trained')"],
        env={**os.environ, **variables},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: NPU_RECIPES_DUMP=a.npz: is one file, and 2 processes would write it")


def test_a_process_that_is_not_to_be_watched_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NPU_RECIPES_DUMP", raising=False)
    assert importlib.import_module("npu_recipes.dumps.everywhere").start() is None
    assert "npu_recipes.dumps.watch" not in sys.modules
