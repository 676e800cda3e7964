"""Environment: what a run is started with, and what of the user's stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.launch import environment
from npu_recipes.launch.environment import DETERMINISTIC, Wishes, inherited, variables


def asked(recipe: dict[str, str], wishes: Wishes, environ: dict[str, str] | None = None) -> dict[str, str]:
    return {one.name: one.value for one in variables(recipe, wishes, environ or {})}


def test_what_the_user_has_set_stays() -> None:
    assert asked({"A": "1", "B": "2"}, Wishes(), {"A": "3"}) == {"B": "2"}


def test_what_the_user_has_set_and_decides_about_the_run_is_told_of() -> None:
    environ = {
        "VLLM_API_KEY": "secret",
        "PATH": "/bin",
        "PYTORCH_NPU_ALLOC_CONF": "max_split_size_mb:64",
        "MINE": "4",
        "HCCL_BUFFSIZE": "200",
        "HCCL_DETERMINISTIC": "false",
        "LD_PRELOAD": "a.so",
        "EXPANDABLE_SEGMENTS": "True",
    }

    found = inherited({"MINE": "1"}, variables({"MINE": "1"}, Wishes(deterministic=0), environ), environ)

    names = ["EXPANDABLE_SEGMENTS", "HCCL_BUFFSIZE", "LD_PRELOAD", "MINE", "PYTORCH_NPU_ALLOC_CONF"]
    assert [(one.name, one.value, one.why) for one in found] == [
        (name, environ[name], "your environment") for name in names
    ]


def test_nothing_is_switched_unless_it_is_asked_for() -> None:
    assert asked({}, Wishes()) == {}


def test_virtual_memory_is_one_switch() -> None:
    assert asked({}, Wishes(expandable=True)) == {"EXPANDABLE_SEGMENTS": "True"}


@pytest.mark.parametrize("seed", [0, 7])
def test_a_deterministic_run_sets_what_operators_look_at(seed: int) -> None:
    # set_env.sh of NNAL exports it, so that what is there does not count.
    assert asked({}, Wishes(deterministic=seed), {"ATB_MATMUL_SHUFFLE_K_ENABLE": "1"}) == DETERMINISTIC


def test_jemalloc_is_loaded_before_all_else(tmp_path: Path) -> None:
    library = tmp_path / "libjemalloc.so.2"
    library.touch()

    found = asked({}, Wishes(jemalloc=str(library)), {"LD_PRELOAD": f"a.so:{library}"})

    assert found == {"LD_PRELOAD": f"{library}:a.so"}


@pytest.mark.parametrize("name", ["lib.so", "./lib.so", "~/lib.so", "link.so"])
def test_jemalloc_is_loaded_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "lib.so").touch()
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "lib.so").touch()
    (tmp_path / "link.so").symlink_to(tmp_path / "a b" / "lib.so")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert asked({}, Wishes(jemalloc=name)) == {"LD_PRELOAD": str(tmp_path / Path(name).name)}


@pytest.mark.parametrize("folder", ["a b", "a:b"])
def test_a_library_that_cannot_be_preloaded_is_refused(tmp_path: Path, folder: str) -> None:
    library = tmp_path / folder / "lib.so"
    library.parent.mkdir()
    library.touch()

    with pytest.raises(RecipeError, match=r"lib\.so cannot be preloaded"):
        asked({}, Wishes(jemalloc=str(library)))


def test_jemalloc_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = tmp_path / "there"
    monkeypatch.setattr(environment, "JEMALLOC", (str(tmp_path / "not"), str(there)))
    with pytest.raises(RecipeError, match="apt install libjemalloc2"):
        asked({}, Wishes(jemalloc="auto"))

    there.touch()

    assert asked({}, Wishes(jemalloc="auto")) == {"LD_PRELOAD": str(there)}
