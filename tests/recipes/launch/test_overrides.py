"""A recipe's options and the user's, written as Hydra reads them; `checks/hydra_overrides` asks Hydra itself."""

from __future__ import annotations

import pytest

from npu_recipes.errors import RecipeError
from npu_recipes.launch.overrides import assigned, merged, untouched, value_text


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
        (["a=3"], ["+b=2", "a=3"]),
        (["b=3"], ["a=1", "+b=2", "b=3"]),
        (["+b=3"], ["a=1", "+b=3"]),
        (["++b=3"], ["a=1", "++b=3"]),
        (["~b"], ["a=1", "+b=2", "~b"]),
        (["~a"], ["a=1", "+b=2", "~a"]),
        (["c=4", "a=3"], ["+b=2", "c=4", "a=3"]),
        (["a="], ["+b=2", "a="]),
        (["a=[3]"], ["+b=2", "a=[3]"]),
        (["a={c:3}"], ["a=1", "+b=2", "a={c:3}"]),
        (["a=extend_list(3)"], ["a=1", "+b=2", "a=extend_list(3)"]),
        (["~a", "+a={c:3}"], ["a=1", "+b=2", "~a", "+a={c:3}"]),
        (["c={d:8}", "c.d=4", "c={e:5}"], ["a=1", "+b=2", "c={d:8}", "c.d=4", "c={e:5}"]),
    ],
)
def test_the_users_overrides_stand_behind_the_recipes_as_they_were_written(
    given: list[str], expected: list[str]
) -> None:
    assert merged({"a": 1, "+b": 2}, given) == expected


def test_all_that_is_no_override_is_named() -> None:
    with pytest.raises(RecipeError) as caught:
        merged({}, ["a", "b=1", "c d"])

    assert [problem.where for problem in caught.value.problems] == ["a", "c d"]


@pytest.mark.parametrize("given", [["a.b=1"], ["a={b:1}"], ["~a"], ["+a.b=1", "d=1"]])
def test_what_the_user_gives_of_a_key_or_around_it_touches_an_option(given: list[str]) -> None:
    assert untouched({"a.b": 1, "+c": 2, "ab": 3}, given) == {"+c": 2, "ab": 3}


@pytest.mark.parametrize(
    ("overrides", "value"),
    [
        ([], None),
        (["a.b=1", "++a.b=2"], "2"),
        (["a.b='2'"], "2"),
        (["a={b:8}", "a.b=4"], "4"),
        (["a.b=4", "a={c:8}"], "4"),
    ],
)
def test_the_last_that_assigns_a_key_counts(overrides: list[str], value: str | None) -> None:
    assert assigned(overrides, "a.b") == value


@pytest.mark.parametrize("last", ["a={c:1,b:8}", "~a.b"])
def test_what_does_not_show_a_key_s_value_is_refused(last: str) -> None:
    with pytest.raises(RecipeError, match=r"hides what a\.b is"):
        assigned(["a.b=4", last], "a.b")
