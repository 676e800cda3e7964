"""Overrides: a recipe's options and the user's, as Hydra reads them. That Hydra does, `checking/quoting.py` asks it."""

from __future__ import annotations

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.launching.overrides import merged, value_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (None, "null"),
        (1e-6, "1e-06"),
        ("a/b.parquet", "a/b.parquet"),
        ("true", "'true'"),
        ("12", "'12'"),
        ("", "''"),
        ("it's", r"'it\'s'"),
        ("a b", "'a b'"),
        (["console", "file"], "[console,file]"),
        ({"a": [1, "2"]}, "{a:[1,'2']}"),
    ],
)
def test_a_value_is_written_as_hydra_reads_it(value: object, text: str) -> None:
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ["a=1", "+b=2"]),
        (["a=3"], ["a=3", "+b=2"]),
        (["b=3"], ["a=1", "+b=3"]),
        (["++b=3"], ["a=1", "++b=3"]),
        (["~b"], ["a=1"]),
        (["~a"], ["~a", "+b=2"]),
        (["c=4", "a=3"], ["a=3", "+b=2", "c=4"]),
        (["a="], ["a=", "+b=2"]),
    ],
)
def test_the_users_override_takes_the_place_of_the_recipes(given: list[str], expected: list[str]) -> None:
    assert merged({"a": 1, "+b": 2}, given) == expected


def test_all_that_is_no_override_is_named() -> None:
    with pytest.raises(RecipeError) as caught:
        merged({}, ["a", "b=1", "c d"])

    assert [problem.where for problem in caught.value.problems] == ["a", "c d"]
