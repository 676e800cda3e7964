"""Drawing: what is left of many points."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from npu_recipes.comparison import DEFAULTS, Judged, Limit, compare
from npu_recipes.reports.picture import picture, thinned
from npu_recipes.runs import Run, Series

from ..samples import REWARD


def run(values: list[float]) -> Run:
    series = Series(steps=np.arange(len(values)), values=np.array(values))
    return Run(name="run", form="console log", metrics={REWARD: series})


def judged(reference: list[float], other: list[float]) -> Judged:
    (one,) = compare([run(reference)], [run(other)], DEFAULTS, steps=(None, None)).metrics
    return one


def test_of_many_points_the_extremes_are_kept() -> None:
    values = np.sin(np.arange(100_000) / 1000)
    values[77_777] = 9.0
    steps, kept = thinned(np.arange(100_000), values)
    assert len(steps) <= 1000
    assert 77_777 in steps
    assert (kept.min(), kept.max()) == (values.min(), 9.0)
    assert np.all(np.diff(steps) > 0)


def test_few_points_stay_as_they_are() -> None:
    steps, values = np.arange(7), np.full(7, math.nan)
    assert all(one is other for one, other in zip(thinned(steps, values), (steps, values), strict=True))


def test_a_stretch_without_numbers_is_a_gap() -> None:
    _, kept = thinned(np.arange(2000), np.full(2000, math.nan))
    assert np.isnan(kept).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300, 1.7e308])
def test_whatever_the_numbers_a_picture_comes(value: float) -> None:
    picture(judged([value, 1.0, value], [1.0, value, value]))
    picture(judged([value], [value]))
    picture(judged([value, value], [-value, 1.0]))
    picture(judged([1e-308, 1.0], [1.65, value]))


@pytest.mark.filterwarnings("error")
def test_whatever_the_limit_a_picture_comes() -> None:
    limits = [Limit(pattern=REWARD, value=1e308)]
    (one,) = compare([run([1.0])], [run([2.0])], limits, steps=(None, None)).metrics
    picture(one)


def test_all_colours_are_the_pages() -> None:
    text = picture(judged([1.0, 2.0, 3.0], [1.0, 2.0, 9.0]))
    assert text.startswith("<svg ")
    assert not re.findall(r"#[0-9a-f]{6}", text)
    assert set(re.findall(r"var\(--(\w+)\)", text)) == {"text", "grid", "reference", "run", "limit", "font"}
