"""Places: a problem with a file of a work tree names where the overlay changes that file."""

from __future__ import annotations

from pathlib import Path

import pytest

from language.overlays import HEADER, git_diff, load, write
from npu_overlays.authoring.refresh.refresh import naming_places
from npu_overlays.errors import MergeError, Problem
from support.environment import Environment

A, B = "pkg/a.py", "pkg/b.yaml"


@pytest.mark.parametrize(
    ("where", "named"),
    [
        (A, "; the overlay changes it in pkg@1111111/tree/pkg/a.py:4"),
        (f"{A}:9", "; the overlay changes it in pkg@1111111/tree/pkg/a.py:4"),
        (B, "; the overlay changes it in pkg@1111111/patches/b.patch:2"),
        ("pkg/c.txt", "; the overlay changes it in pkg@1111111/tree/pkg/c.txt"),
        ("pkg/other.py", ""),
    ],
)
def test_a_problem_names_the_place_of_the_overlay(
    tmp_path: Path, environment: Environment, where: str, named: str
) -> None:
    patch = HEADER.encode() + git_diff(environment, {B: b"a: 1\n"}, {B: b"a: 2\n"})
    operation = b"from npu_overlays.markers import replaced\n\n@replaced(why='w')\ndef f(): ...\n"
    files: dict[str, str | bytes] = {f"tree/{A}": operation, "tree/pkg/c.txt": "c\n", "patches/b.patch": patch}
    with pytest.raises(MergeError) as raised, naming_places(load(tmp_path, write(tmp_path, files))):
        raise MergeError(Problem(where=where, what="is wrong"))
    assert raised.value.problems[0].what == f"is wrong{named}"
