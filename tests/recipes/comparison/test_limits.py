"""Limits: the defaults, and those that somebody gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from npu_recipes.comparison import DEFAULTS, read_limit, read_limits
from npu_recipes.comparison.limits import limit_of
from npu_recipes.errors import RecipeError

from ..samples import write_text


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("train/loss", 0.02),
        ("val/loss", 0.02),
        ("critic/rewards/mean", 0.04),
        ("critic/score/mean", 0.04),
        ("lm loss", 0.02),
        ("eval_loss", 0.02),
        ("lm loss validation", 0.02),
        ("grpo/rewards/mean", 0.04),
        ("lm loss test", None),
        ("critic/rewards/max", None),
        ("actor/pg_loss", None),
        ("actor/kl_loss", None),
        ("val-core/openai/gsm8k/reward/mean@1", None),
    ],
)
def test_the_defaults_are_those_of_the_page_on_ascend(metric: str, value: float | None) -> None:
    limit = limit_of(metric, DEFAULTS)
    assert (limit and limit.value) == value


def test_the_first_that_fits_counts() -> None:
    limits = [read_limit("actor/*=5%"), read_limit("*=none"), *DEFAULTS]
    assert [bool(limit_of(metric, limits)) for metric in ("actor/lr", "train/loss")] == [True, False]


@pytest.mark.parametrize(
    ("text", "value"),
    [("a=b=4%", 0.04), ("a=b=0.5", 0.5), ("a=b= 2.5% ", 0.025), ("a=b=NONE", None), ("a=b=1", 1.0), ("a=b=400%", 4.0)],
)
def test_values_are_shares_and_percents(text: str, value: float | None) -> None:
    limit = read_limit(text)
    assert (limit.pattern, limit.value) == ("a=b", value)


@pytest.mark.parametrize(("text", "fix"), [("a=4", "write 4%, or 400% where"), ("a=1.5", "write 1.5%, or 150% where")])
def test_a_share_that_is_meant_as_percent_is_refused(text: str, fix: str) -> None:
    with pytest.raises(RecipeError, match=rf"is a share, of \d+%\n    fix: {fix}"):
        read_limit(text)


@pytest.mark.parametrize("text", ["a", "=4%", "a=", "a=-1", "a=nan", "a=inf", "a=4%%", "a=much"])
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match="fix: write"):
        read_limit(text)


def test_a_file_of_limits(tmp_path: Path) -> None:
    file = write_text(tmp_path / "limits.yaml", "train/loss: 1%\n'val-core/*': 0.05\nactor/lr:\n'critic/*': none\n")
    assert [(one.pattern, one.value) for one in read_limits(file)] == [
        ("train/loss", 0.01),
        ("val-core/*", 0.05),
        ("actor/lr", None),
        ("critic/*", None),
    ]


def test_all_that_is_wrong_in_a_file_is_told_at_once(tmp_path: Path) -> None:
    file = write_text(tmp_path / "limits.yaml", "a: much\nb: 4%\nc: -1\nb: 40%\n")
    with pytest.raises(RecipeError) as caught:
        read_limits(file)
    assert [problem.where.rpartition(": ")[2] for problem in caught.value.problems] == ["b", "a", "c"]


@pytest.mark.parametrize("content", ["- a", "a: [", "4%", "\x00"])
def test_a_file_that_maps_nothing_is_refused(tmp_path: Path, content: str) -> None:
    file = write_text(tmp_path / "limits.yaml", content)
    with pytest.raises(RecipeError, match=r"limits\.yaml"):
        read_limits(file)
