"""Verdict: what of a comparison fails, what cannot be told, and what is explained."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from npu_recipes.comparison import DEFAULTS, Comparison, Judged, compare, read_limit
from npu_recipes.reports.comparison import verdict
from npu_recipes.runs import Run, Series

from ..samples import REWARD

STEPS = range(1, 11)


def run(metrics: dict[str, dict[int, float]], name: str = "run") -> Run:
    series = {
        metric: Series(steps=np.array(list(values), dtype=np.int64), values=np.array(list(values.values())))
        for metric, values in metrics.items()
    }
    return Run(name=name, form="console log", metrics=series)


def constant(value: float, metric: str = REWARD, name: str = "run") -> Run:
    return run({metric: dict.fromkeys(STEPS, value)}, name)


def seeds(*values: float) -> list[Run]:
    return [constant(value, name=f"seed-{number}") for number, value in enumerate(values)]


def judged(reference: list[Run], other: list[Run], *limits: str) -> Comparison:
    return compare(reference, other, [*map(read_limit, limits), *DEFAULTS], steps=(None, None))


def only(comparison: Comparison) -> Judged:
    (one,) = comparison.metrics
    return one


@pytest.mark.parametrize(
    ("value", "verdict"), [(1.0, "within"), (1.04, "within"), (0.96, "within"), (1.0401, "beyond"), (0.9599, "beyond")]
)
def test_the_reward_may_differ_by_four_percent(value: float, verdict: str) -> None:
    assert judged([constant(1.0)], [constant(value)]).verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(1.019, "within"), (1.021, "beyond")])
def test_the_loss_may_differ_by_two(value: float, verdict: str) -> None:
    assert judged([constant(1.0, "train/loss")], [constant(value, "train/loss")]).verdict == verdict


def test_one_nan_of_the_run_is_beyond_every_limit() -> None:
    found = judged([constant(1.0)], [run({REWARD: {**dict.fromkeys(STEPS, 1.0), 7: math.nan}})])
    assert (found.verdict, only(found).measure.first) == ("beyond", 7)
    assert only(found).notes == ("the run is NaN or infinite at 1 steps where the reference is not",)


def test_a_reference_of_zeros_cannot_be_judged() -> None:
    found = judged([constant(0.0)], [constant(0.5)])
    assert (found.verdict, only(found).status) == ("unusable", "not comparable")
    assert only(found).notes == ("10 steps left out: the reference is zero there and the run is not",)
    assert judged([constant(0.0)], [constant(0.0)]).verdict == "within"


def test_few_steps_do_not_speak_for_many_at_which_the_reference_is_zero() -> None:
    sparse = run({REWARD: {**dict.fromkeys(STEPS, 0.0), STEPS[0]: 1.0}})
    found = judged([sparse], [run({REWARD: {**dict.fromkeys(STEPS, 1000.0), STEPS[0]: 1.0}})])
    assert (found.verdict, only(found).status) == ("unusable", "not comparable")
    (note,) = only(found).notes
    assert note.startswith(
        "9 steps left out: the reference is zero there and the run is not; with them, error / mean is 9"
    )
    assert judged([sparse], [sparse]).verdict == "within"


@pytest.mark.parametrize(("instead", "verdict"), [(0.9, "unusable"), (0.001, "within")])
def test_a_run_that_has_something_where_the_reference_has_nothing_is_not_within(instead: float, verdict: str) -> None:
    early = STEPS[: len(STEPS) * 4 // 10]
    values = dict.fromkeys(STEPS, 0.5)
    found = judged(
        [run({REWARD: values | dict.fromkeys(early, 0.0)})], [run({REWARD: values | dict.fromkeys(early, instead)})]
    )
    assert found.verdict == verdict


@pytest.mark.parametrize(("compared", "words"), [(6, "9 steps"), (0, "15 steps")])
def test_other_metrics_within_their_limits_do_not_speak_for_it(compared: int, words: str) -> None:
    steps = range(1, 16)
    other = dict.fromkeys(steps, 1.0)
    late = dict.fromkeys(list(steps)[15 - compared :], 1.0)
    one = run({REWARD: dict.fromkeys(steps, 0.0) | late, "train/loss": other})
    found = judged([one], [run({REWARD: other, "train/loss": other})])
    assert {metric.metric: metric.status for metric in found.metrics} == {
        REWARD: "not comparable",
        "train/loss": "within",
    }
    assert found.verdict == "unusable"
    (problem,) = found.problems
    assert (problem.where, words in problem.what) == (REWARD, True)
    assert "no step can be compared" not in problem.what


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_few_steps_do_not_speak_for_many_at_which_the_reference_is_no_number(value: float) -> None:
    broken = run({REWARD: {**dict.fromkeys(STEPS, value), STEPS[0]: 1.0}})
    found = judged([broken], [run({REWARD: {**dict.fromkeys(STEPS, 1000.0), STEPS[0]: 1.0}})])
    assert (found.verdict, only(found).status) == ("unusable", "not comparable")
    assert only(found).notes == ("9 steps left out: the reference is NaN or infinite there",)


def test_a_run_that_ended_early_can_be_refused() -> None:
    short = run({REWARD: dict.fromkeys(STEPS[:3], 1.0)})
    limits = list(DEFAULTS)
    found = compare([constant(1.0)], [short], limits, steps=(None, None), least=4)
    assert (found.verdict, only(found).status) == ("unusable", "not comparable")
    assert only(found).notes[-1] == "compared at 3 steps: --min-steps wants 4"
    assert compare([constant(1.0)], [short], limits, steps=(None, None), least=3).verdict == "within"
    wrong = run({REWARD: dict.fromkeys(STEPS[:3], 9.0)})
    assert compare([constant(1.0)], [wrong], limits, steps=(None, None), least=4).verdict == "beyond"


@pytest.mark.parametrize(
    ("steps", "notes"),
    [
        ((1, 5), ()),
        ((None, 3), ()),
        (
            (50, None),
            ("no step from 50 to any in common: the reference has 10 from 1 to 10, the run 10 from 1 to 10",),
        ),
    ],
)
def test_steps_that_nobody_asked_for_are_not_missed(steps: tuple[int | None, int | None], notes: object) -> None:
    found = compare([constant(1.0)], [constant(1.0)], list(DEFAULTS), steps=steps)
    assert only(found).notes == notes


def test_a_limit_that_one_side_alone_could_keep_is_told_of() -> None:
    both = run({REWARD: dict.fromkeys(STEPS, 1.0), "train/loss": dict.fromkeys(STEPS, 1.0), "a": {1: 1.0}})
    found = judged([both], [constant(1.0, "train/loss")])
    assert (found.verdict, found.one_sided) == ("within", (REWARD,))
    assert verdict(found) == f"within the limits: 1 of 1 metrics; on one side alone: {REWARD}"


@pytest.mark.parametrize(
    ("limits", "verdict"),
    [([], "unusable"), (["critic/rewards/mean=none", "train/loss=2%"], "within"), (["*=4%"], "unusable")],
)
def test_a_metric_that_could_not_be_read_is_not_within(limits: list[str], verdict: str) -> None:
    """Other metrics within their limits do not speak for it; where it is not judged, it does not matter."""
    both = run({REWARD: dict.fromkeys(STEPS, 1.0), "train/loss": dict.fromkeys(STEPS, 1.0)})
    found = judged([both], [replace(both, unread={REWARD: "1 is no number"})], *limits)
    assert found.verdict == verdict
    assert [one.where for one in found.problems] == ([f"run: {REWARD}"] if verdict == "unusable" else [])


@pytest.mark.parametrize(
    ("text", "limits", "verdict"),
    [("val/loss", [], "unusable"), ("by", ["by=1%"], "unusable"), ("by", ["*=4%"], "within"), ("by", [], "within")],
)
def test_a_text_matters_where_a_limit_names_it(text: str, limits: list[str], verdict: str) -> None:
    found = judged([constant(1.0)], [replace(constant(1.0), unread={text: "1 is no number"})], *limits)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("steps", "every", "verdict"),
    [
        (range(1, 50), 1, "unusable"),
        ([*range(1, 50), *range(60, 101)], 1, "unusable"),
        ([*range(1, 50), *range(53, 101)], 1, "within"),
        (range(10, 101, 10), 1, "within"),
        (range(10, 50, 10), 1, "unusable"),
        (range(10, 50, 10), 10, "unusable"),
        (range(10, 50, 10), 20, "within"),
        ([1], 1, "unusable"),
        ([1, 2], 1, "unusable"),
        (range(31, 101), 1, "unusable"),
        (range(4, 101), 1, "within"),
        ([50, 100], 50, "within"),
    ],
)
def test_a_run_that_goes_on_without_its_metric_is_not_within(steps: list[int], every: int, verdict: str) -> None:
    """As one that is NaN does in a table of pandas: its cells are empty, as those of what was not logged."""
    records = dict.fromkeys(range(every, 101, every), 1.0)
    reference = run({REWARD: dict.fromkeys(range(1, 101), 1.0)})
    found = judged([reference], [run({REWARD: dict.fromkeys(steps, 1.0), "lr": records})])
    assert found.verdict == verdict
    assert judged(list(found.run), list(found.reference)).verdict == verdict


@pytest.mark.parametrize(
    ("steps", "others", "verdict"),
    [(range(60, 101), range(20, 101, 20), "unusable"), (range(60, 101, 20), range(1, 101), "within")],
)
def test_a_metric_that_is_missing_from_the_beginning_is_measured_by_its_own_interval(
    steps: range, others: range, verdict: str
) -> None:
    records = dict.fromkeys(range(1, 101), 1.0)
    late, whole = (run({REWARD: dict.fromkeys(of, 1.0), "lr": records}) for of in (steps, others))
    assert judged([whole], [late]).verdict == verdict


@pytest.mark.parametrize("steps", [[100], [0, 100], range(50, 101)])
def test_what_both_sides_log_seldom_or_late_is_no_hole(steps: list[int]) -> None:
    one = run({REWARD: dict.fromkeys(steps, 1.0), "lr": dict.fromkeys(range(101), 1.0)})
    assert judged([one], [one]).verdict == "within"


def test_a_hole_is_named_and_steps_that_do_not_count_have_none() -> None:
    both = run({REWARD: dict.fromkeys(range(1, 101), 1.0), "train/loss": dict.fromkeys(range(1, 101), 1.0)})
    hole = run({REWARD: dict.fromkeys(range(1, 50), 1.0), "train/loss": dict.fromkeys(range(1, 101), 1.0)})
    found = judged([both], [hole])
    (problem,) = found.problems
    assert (problem.where, found.verdict) == (REWARD, "unusable")
    assert "run continues without it for 51 steps after step 49: NaN, or not logged?" in problem.what
    assert compare([both], [hole], list(DEFAULTS), steps=(None, 52)).verdict == "within"
    assert compare([both], [hole], list(DEFAULTS), steps=(None, 54)).verdict == "unusable"


def test_a_run_that_is_nan_alone_is_called_so() -> None:
    found = judged([constant(1.0)], [constant(math.nan)])
    assert verdict(found) == f"beyond the limit: {REWARD} (NaN or infinite at 10 steps, limit 4.00%)"


def test_a_run_that_drifts_away_within_its_limit_is_told_of() -> None:
    reference = run({REWARD: dict.fromkeys(range(100), 1.0)})
    found = judged([reference], [run({REWARD: {step: 1.0 if step < 90 else 1.1 for step in range(100)}})])
    note = "within its limit in the mean, and above it at every step from 90 on: it drifts away"
    assert (found.verdict, only(found).notes) == ("within", (note,))


def test_other_intervals_are_explained() -> None:
    found = judged([constant(1.0)], [run({REWARD: dict.fromkeys(range(2, 11, 4), 1.0)})])
    note = "3 steps in common: the reference has 10 from 1 to 10, the run 3 from 2 to 10, every 4"
    assert (found.verdict, only(found).measure.steps, only(found).notes) == ("within", 3, (note,))


def test_no_step_in_common_is_explained() -> None:
    found = judged([run({REWARD: {2: 1.0, 4: 1.0}})], [run({REWARD: {1: 1.0, 3: 1.0}})])
    assert found.verdict == "unusable"
    note = "no step in common: the reference has 2 from 2 to 4, every 2, the run 2 from 1 to 3, every 2"
    assert only(found).notes == (note,)


def test_metrics_of_one_side_are_named() -> None:
    found = judged([run({REWARD: {1: 1.0}, "a": {1: 1.0}})], [run({REWARD: {1: 1.0}, "b": {1: 1.0}})])
    assert (found.only_reference, found.only_run, found.verdict) == (("a",), ("b",), "within")


def test_a_limit_is_one_of_a_metric_that_both_sides_have_a_stroke_less() -> None:
    tables = [constant(1.0, "critic_rewards_mean")], [constant(1.05, "critic_rewards_mean")]
    found = judged(*tables)
    assert (only(found).metric, found.verdict) == (REWARD, "beyond")
    assert [one.notes for one in (*found.reference, *found.run)] == [
        (f"its critic_rewards_mean is taken for {REWARD}",)
    ] * 2
    assert judged(*tables, "critic/rewards/mean=6%").verdict == "within"
    assert only(judged(*tables, "critic_rewards_mean=6%")).metric == "critic_rewards_mean"
    assert only(judged(*tables, "critic_*=6%")).status == "within"
    several = [run({name: {1: 1.0} for name in ("train_loss", "train/loss")})]
    assert {one.metric: one.limit for one in judged(several, several).metrics} == {
        "train/loss": 0.02,
        "train_loss": None,
    }


def test_a_metric_that_one_side_has_a_stroke_less_is_the_same() -> None:
    """As that of a table whose metric TensorBoard's page has put into the name of the file."""
    tables = [constant(1.0, "critic_rewards_mean"), constant(1.01, "train_loss")]
    log = run(
        {
            REWARD: dict.fromkeys(STEPS, 1.02),
            "train/loss": dict.fromkeys(STEPS, 1.0),
            "a/b_c": {1: 1.0},
            "a_b/c": {1: 1.0},
        }
    )
    for found in (judged(tables, [log]), judged([log], tables)):
        assert {one.metric for one in found.metrics if one.status == "within"} == {REWARD, "train/loss"}
        assert [one.notes for one in (*found.reference, *found.run) if one.notes] == [
            (f"its critic_rewards_mean is taken for {REWARD}",),
            ("its train_loss is taken for train/loss",),
        ]
    unknown = judged([constant(1.0, "a_b_c")], [log])
    assert unknown.only_reference == ("a_b_c",)
    both = judged([run({"a_b": {1: 1.0}, "a/b": {1: 2.0}})], [constant(1.0, "a/b")])
    assert (only(both).metric, both.only_reference) == ("a/b", ("a_b",))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("train/loss", "loss"),
        ("loss", "lm loss"),
        ("val/loss", "eval_loss"),
        ("eval/loss", "lm loss validation"),
        ("critic/score/mean", "reward"),
        ("reward", "train/reward"),
        ("critic/rewards/mean", "grpo/rewards/mean"),
    ],
)
def test_what_trainers_call_the_same_is_compared(one: str, other: str) -> None:
    found = judged([constant(1.0, one)], [constant(1.05, other)])
    assert (only(found).metric, found.verdict, found.run[0].notes) == (
        one,
        "beyond",
        (f"its {other} is taken for {one}",),
    )


@pytest.mark.parametrize(("one", "others"), [("actor/pg_loss", ["loss"]), ("train/loss", ["loss", "lm loss"])])
def test_what_means_something_else_or_one_of_two_is_not_compared(one: str, others: list[str]) -> None:
    found = judged([constant(1.0, one)], [run({name: dict.fromkeys(STEPS, 1.0) for name in others})])
    assert (found.metrics, found.only_reference, found.only_run) == ((), (one,), tuple(others))


def test_a_loss_beside_a_reward_is_a_policys_and_has_no_limit_by_default() -> None:
    reference, other = (
        [run({"reward": dict.fromkeys(STEPS, 0.5), "loss": dict.fromkeys(STEPS, loss)})] for loss in (0.0, 1e-4)
    )
    found = judged(reference, other)
    assert {one.metric: one.status for one in found.metrics} == {"reward": "within", "loss": "not judged"}
    assert judged(reference, other, "loss=2%").verdict == "unusable"


def test_nothing_with_a_limit_cannot_be_judged() -> None:
    found = judged([constant(1.0, "a")], [constant(1.0, "a")])
    assert (found.verdict, only(found).status) == ("unusable", "not judged")
    assert str(found.problems[0]).endswith("fix: --limit 'NAME=4%', for one that both have: a")


def test_a_limit_that_somebody_asked_for_has_to_fit() -> None:
    found = judged([constant(1.0)], [constant(1.0)], "train/los=2%")
    assert (found.verdict, found.problems[0].where) == ("unusable", "train/los")


def test_what_is_beyond_a_limit_stays_so_where_another_limit_does_not_fit() -> None:
    assert judged([constant(1.0)], [constant(2.0)], "train/los=2%").verdict == "beyond"


def test_a_limit_that_somebody_asked_for_has_to_be_told() -> None:
    reference, other = run({REWARD: {1: 1.0}, "a": {1: 0.0}}), run({REWARD: {1: 1.0}, "a": {1: 1.0}})
    assert judged([reference], [other]).verdict == "within"
    found = judged([reference], [other], "a=4%")
    assert (found.verdict, found.problems[0].where) == ("unusable", "a")


def test_of_several_seeds_the_means_are_compared_and_the_spread_is_shown() -> None:
    found = judged([constant(0.9), constant(1.1)], [constant(1.05), constant(0.95), constant(1.03)])
    one = only(found)
    assert found.verdict == "within"
    assert one.measure.mean == pytest.approx(0.01)
    assert one.reference.relative_spread == pytest.approx(math.sqrt(0.02))
    assert one.run.runs == 3


@pytest.mark.parametrize(
    ("reference", "other", "verdict", "said"),
    [
        (
            (1.0, 1.0),
            (0.5, 1.5),
            "unusable",
            "seed-0 by 50.00%, seed-1 by 50.00%; those of the reference differ by 0.00%",
        ),
        (
            (1.0, 1.02),
            (0.9, 1.1),
            "unusable",
            "seed-0 by 10.89%, seed-1 by 8.91%; those of the reference differ by 2.00%",
        ),
        ((1.0,), (1.0, 0.94, 1.05), "unusable", "seed-1 by 6.00%, seed-2 by 5.00%; one reference cannot explain that"),
        ((0.9, 1.1), (0.8, 1.2), "within", ""),
        ((1.0, 1.0), (0.97, 1.03), "within", ""),
        ((0.5, 1.5), (1.0,), "within", ""),
        ((0.0, 0.0), (-1.0, 1.0), "unusable", "seed-0 by inf%, seed-1 by inf%"),
    ],
)
def test_errors_of_seeds_that_cancel_are_not_within(
    reference: tuple[float, ...], other: tuple[float, ...], verdict: str, said: str
) -> None:
    """Unless the reference's own seeds differ as much: that is what a seed makes, and no error."""
    found = judged(seeds(*reference), seeds(*other))
    assert (found.verdict, said in " ".join(only(found).notes)) == (verdict, True)
    assert [said in problem.what for problem in found.problems[:1]] == ([True] if said else [])


@pytest.mark.parametrize("later", [1.9, math.nan])
@pytest.mark.parametrize("short", ["reference", "run"])
def test_a_seed_that_ended_first_hides_no_error_of_another(short: str, later: float) -> None:
    wrong = run({REWARD: {step: 1.0 if step <= 3 else later for step in STEPS}}, "wrong")
    ended = run({REWARD: dict.fromkeys(STEPS[:3], 1.0)}, "ended")
    sides = ([constant(1.0), ended], [wrong]) if short == "reference" else ([constant(1.0)], [wrong, ended])
    found = judged(*sides)
    assert (found.verdict, only(found).measure.steps) == ("unusable", 3)
    assert f"wrong by {0.63 if later > 1 else math.inf:.2%}" in " ".join(only(found).notes)
    assert compare(*sides, list(DEFAULTS), steps=(None, 3)).verdict == "within"


def test_a_seed_of_the_reference_that_is_nan_explains_no_error() -> None:
    broken = run({REWARD: {step: 1.0 if step <= 3 else math.nan for step in STEPS}}, "broken")
    ended = run({REWARD: dict.fromkeys(STEPS[:3], 1.0)}, "ended")
    found = judged([constant(1.0), broken, ended], seeds(0.5, 1.5))
    assert (found.verdict, only(found).measure.steps) == ("unusable", 3)
    assert "seed-0 by 50.00%, seed-1 by 50.00%; those of the reference differ by 0.00%" in only(found).notes[0]


def test_noise_of_single_steps_is_what_a_mean_of_seeds_is_for() -> None:
    noise = np.random.default_rng(0).normal(1.0, 0.1, (16, 400))
    noisy = [run({REWARD: dict(enumerate(values.tolist()))}, f"seed-{number}") for number, values in enumerate(noise)]
    assert judged(noisy[:8], noisy[8:], f"{REWARD}=5%").verdict == "within"


def test_seeds_count_where_all_of_them_are() -> None:
    shorter = run({REWARD: dict.fromkeys(range(1, 6), 3.0)}, name="short")
    found = judged([constant(1.0), shorter], [constant(2.0)])
    assert (only(found).measure.steps, only(found).measure.mean) == (5, 0.0)
    assert only(found).notes[0] == "5 steps are in all runs of the reference, of up to 10: short has 5 from 1 to 5"


def test_a_seed_that_lacks_a_metric_is_told_of() -> None:
    found = judged([constant(1.0), constant(1.0, "a")], [constant(1.0)])
    assert only(found).notes == ("only 1 of the 2 runs of the reference logged it",)


def test_a_seed_of_the_same_metrics_without_one_that_has_a_limit_may_have_been_nan() -> None:
    whole, empty = run({REWARD: {1: 1.0, 2: 1.0}, "a": {1: 1.0}}, "whole"), run({"a": {1: 1.0}}, "empty")
    found = judged([whole], [whole, empty])
    assert (found.verdict, found.metrics[0].status) == ("unusable", "not comparable")
    assert "empty has no value of it, and others beside it have: NaN, or not logged?" in str(found.problems[0])


def test_what_is_nan_where_the_reference_has_no_step_is_told_of() -> None:
    seldom = run({REWARD: dict.fromkeys(range(10, 101, 10), 1.0)})
    often = run({REWARD: {step: 1.0 if step % 10 == 0 else math.nan for step in range(1, 101)}}, "often")
    found = judged([seldom], [often])
    said = "often is NaN or infinite at 90 steps that are not compared, the first 1"
    assert (found.verdict, only(found).doubts) == ("unusable", (said,))
    longer = run({REWARD: {step: 1.0 if step <= 100 else math.inf for step in range(1, 301)}}, "longer")
    assert judged([seldom], [longer]).verdict == "unusable"
    assert compare([seldom], [longer], DEFAULTS, steps=(1, 100)).verdict == "within"
    both = run({REWARD: dict.fromkeys(range(1, 11), 1.0) | {11: math.nan}})
    assert judged([both], [both]).verdict == "within"


def test_one_seed_that_is_nan_is_not_averaged_away() -> None:
    broken = run({REWARD: {**dict.fromkeys(STEPS, 1.0), 3: math.nan}})
    assert judged([constant(1.0)], [constant(1.0), broken]).verdict == "beyond"


def test_the_worst_stands_first() -> None:
    metrics = {"a": {1: 1.0}, "train/loss": {1: 1.0}, REWARD: {1: 1.0}, "val/loss": {1: 0.0}}
    other = {"a": {1: 9.0}, "train/loss": {1: 1.0}, REWARD: {1: 9.0}, "val/loss": {1: 1.0}}
    found = judged([run(metrics)], [run(other)])
    assert [(one.metric, one.status) for one in found.metrics] == [
        (REWARD, "beyond"),
        ("val/loss", "not comparable"),
        ("train/loss", "within"),
        ("a", "not judged"),
    ]
