"""Naming: which file a process writes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from npu_recipes.dumps.naming import file_of
from npu_recipes.errors import RecipeError


@pytest.mark.parametrize(
    ("name", "rank", "world", "file"),
    [
        ("a.npz", "", "", "a.npz"),
        ("a.npz", "0", "1", "a.npz"),
        ("a-{rank}.npz", "", "", "a-0.npz"),
        ("b/a-{rank}.npz", "3", "4", "b/a-3.npz"),
    ],
)
def test_each_process_has_its_file(name: str, rank: str, world: str, file: str) -> None:
    assert file_of(name, rank, world) == Path(file)


def test_several_processes_do_not_write_one_file() -> None:
    with pytest.raises(RecipeError, match=r"fix: name one for each: a-\{rank\}\.npz"):
        file_of("a.npz", "0", "2")


def test_a_process_that_is_not_to_be_watched_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NPU_RECIPES_DUMP", raising=False)
    assert importlib.import_module("npu_recipes.dumps.everywhere").start() is None
    assert "npu_recipes.dumps.watching" not in sys.modules
