"""Measures: alignment by step, and what becomes of steps without a relative error."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_recipes.comparison.curves import MeanCurve, Measure, align, measure

NAN, INF = math.nan, math.inf
ANY = st.floats(allow_nan=True, allow_infinity=True)
CURVES = st.dictionaries(st.integers(-5, 40), ANY, max_size=30)
TAME = st.dictionaries(st.integers(0, 40), st.floats(0.5, 100), min_size=1, max_size=30)


def curve(values: dict[int, float]) -> MeanCurve:
    steps = sorted(values)
    mean = np.array([values[step] for step in steps], dtype=np.float64)
    return MeanCurve(steps=np.array(steps, dtype=np.int64), mean=mean, spread=None, runs=1)


def measured(reference: dict[int, float], run: dict[int, float], threshold: float = 0.04) -> Measure:
    return measure(align(curve(reference), curve(run)), threshold)


def test_the_mean_is_that_of_the_formula() -> None:
    found = measured({1: 1.0, 2: 2.0, 3: -4.0}, {1: 1.1, 2: 2.0, 3: -5.0})
    assert found.mean == pytest.approx((0.1 + 0 + 0.25) / 3)
    assert (found.largest, found.largest_at, found.steps) == (0.25, 3, 3)
    assert found.to_mean == pytest.approx(1.1 / 7)


def test_only_common_steps_count() -> None:
    found = measured(dict.fromkeys(range(1, 101), 2.0), dict.fromkeys(range(10, 151, 10), 2.1))
    assert found.steps == 10
    assert found.mean == pytest.approx(0.05)


def test_steps_may_be_bounded() -> None:
    one, other = curve(dict.fromkeys(range(9), 1.0)), curve({step: float(step) for step in range(9)})
    assert align(one, other, (3, 5)).steps.tolist() == [3, 4, 5]
    assert align(one, other, (7, None)).steps.tolist() == [7, 8]
    assert align(one, other, (None, 0)).steps.tolist() == [0]


def test_a_zero_reference_is_left_out_unless_the_run_is_zero_too() -> None:
    found = measured({1: 0.0, 2: 0.0, 3: 1.0}, {1: 0.0, 2: 9.0, 3: 1.0})
    assert (found.steps, found.mean, found.left_out.zero, found.broken) == (2, 0.0, 1, 0)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_run_that_is_not_finite_alone_has_diverged(value: float) -> None:
    found = measured({1: 1.0, 2: 1.0, 3: 0.0}, {1: 1.0, 2: value, 3: value})
    assert (found.broken, found.steps, found.first) == (2, 1, 2)


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("run", [NAN, INF, 1.0])
def test_a_reference_that_is_not_finite_says_nothing(value: float, run: float) -> None:
    found = measured({1: value, 2: 1.0}, {1: run, 2: 1.0})
    assert (found.left_out.not_finite, found.broken, found.steps, found.first) == (1, 0, 1, None)


def test_the_first_step_beyond_and_the_one_from_which_on_all_are() -> None:
    reference = dict.fromkeys(range(1, 11), 1.0)
    found = measured(reference, {**reference, 2: 1.5, **dict.fromkeys(range(6, 11), 1.5)})
    assert (found.first, found.for_good) == (2, 6)
    assert measured(reference, {**reference, 2: 1.5, **dict.fromkeys(range(7, 11), 1.5)}).for_good is None
    assert measured(reference, {**reference, 2: 1.5}).for_good is None
    assert measured(reference, dict.fromkeys(reference, 2.0)).for_good == 1


def test_numbers_beyond_all_numbers_are_no_small_error() -> None:
    found = measured({1: 5e-324, 2: 1.0}, {1: 1.0, 2: 1.0})
    assert (found.broken, found.first) == (1, 1)
    assert measured({1: 1e-300, 2: 1e-300}, {1: 1e8, 2: 1e8}).mean is None


@given(CURVES, CURVES)
def test_every_common_step_is_counted_once(reference: dict[int, float], run: dict[int, float]) -> None:
    found = measured(reference, run)
    common = sorted(reference.keys() & run.keys())
    assert found.steps + found.broken + found.left_out.zero + found.left_out.not_finite == len(common)
    for step in (found.first, found.for_good, found.largest_at):
        assert step is None or step in common
    assert (found.first is None) or (found.for_good is None or found.first <= found.for_good)
    for number in (found.mean, found.largest, found.to_mean):
        assert number is None or (number >= 0 and math.isfinite(number))


@given(CURVES)
def test_a_run_is_as_precise_as_itself(values: dict[int, float]) -> None:
    found = measured(values, values)
    assert (found.mean or 0, found.largest or 0, found.first, found.broken) == (0, 0, None, 0)


@given(TAME, st.floats(0.5, 2))
def test_a_constant_factor_is_the_error(values: dict[int, float], factor: float) -> None:
    found = measured(values, {step: factor * value for step, value in values.items()})
    assert found.mean == pytest.approx(abs(factor - 1), abs=1e-12)
    assert found.to_mean == pytest.approx(abs(factor - 1), abs=1e-12)


@given(TAME, TAME, st.floats(1e-3, 1e3))
def test_neither_steps_of_one_side_nor_units_matter(
    one: dict[int, float], other: dict[int, float], unit: float
) -> None:
    found = measured(one, other)
    common = one.keys() & other.keys()
    less = measured({step: unit * one[step] for step in common}, {step: unit * other[step] for step in common})
    assert found.mean == pytest.approx(less.mean)
    assert found.steps == less.steps
