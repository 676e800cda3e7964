"""Collecting: what becomes of steps that a resumed run logs again."""

from __future__ import annotations

from itertools import chain, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npu_recipes.runs.collector import Collector


def collected(records: list[tuple[int, dict[str, float]]], *, in_time: bool = True) -> Collector:
    collector = Collector()
    for step, data in records:
        collector.record(step)
        for metric, value in data.items():
            collector.add(metric, value)
    collector.settle(in_time=in_time)
    return collector


def by_step(collector: Collector, metric: str = "a") -> dict[int, float]:
    series = collector.logged().series[metric]
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def test_a_resumed_run_leaves_behind_what_it_logged_for_later_steps() -> None:
    past = [(step, {"a": 1.0}) for step in range(1, 11)]
    resumed = collected([*past, *((step, {"a": 2.0}) for step in range(6, 9))])
    assert by_step(resumed) == {**dict.fromkeys(range(1, 6), 1.0), **dict.fromkeys(range(6, 9), 2.0)}
    assert list(resumed.logged().notes) == [
        "goes back from step 10 to 6: it was resumed; what was logged for later steps before that is left out",
        "1 values were logged twice for their step: the later ones count",
    ]


def test_validation_before_a_resumed_training_keeps_what_training_logged_at_that_step() -> None:
    past = [(step, {"a": 1.0}) for step in range(1, 6)]
    resumed = collected([*past, (3, {"val": 0.5}), (4, {"a": 2.0})])
    assert by_step(resumed) == {1: 1.0, 2: 1.0, 3: 1.0, 4: 2.0}
    assert by_step(resumed, "val") == {3: 0.5}


def test_a_step_in_two_records_is_no_resumption() -> None:
    twice = collected([(1, {"a": 1.0}), (1, {"b": 2.0}), (2, {"a": 3.0})])
    assert by_step(twice) == {1: 1.0, 2: 3.0}
    assert by_step(twice, "b") == {1: 2.0}
    assert list(twice.logged().notes) == []


def test_a_run_that_goes_back_again_and_again_is_told_of_in_one_line() -> None:
    steps = [1, *chain.from_iterable((start, start + 5) for start in range(2, 12))]
    (note, *_) = collected([(step, {"a": 1.0}) for step in steps]).logged().notes
    assert note.startswith("goes back from step 7 to 3, from step 8 to 4, from step 9 to 5 and 6 times more")


def test_a_late_word_on_an_earlier_step_leaves_nothing_behind() -> None:
    past = [(step, {"a": 1.0}) for step in range(1, 11)]
    late = collected([*past, (2, {"val": 3.0}), (11, {"a": 1.0})])
    assert by_step(late) == dict.fromkeys(range(1, 12), 1.0)
    assert by_step(late, "val") == {2: 3.0}
    assert list(late.logged().notes) == []
    resumed = collected([*past, (2, {"val": 3.0}), (6, {"a": 2.0})])
    assert by_step(resumed) == {**dict.fromkeys(range(1, 6), 1.0), 6: 2.0}
    assert resumed.logged().notes[0].startswith("goes back from step 10 to 6")


@pytest.mark.parametrize(("other", "contested"), [(2.0, True), (1.0, False), (float("nan"), True)])
def test_two_runs_that_log_at_once_are_told_of(other: float, contested: bool) -> None:
    both = collected([(step, {"a": value}) for step, value in product(range(1, 6), (other, 1.0))])
    said = "5 of its 5 steps have several values, as where two runs log at once: the last ones count"
    assert both.logged().unread == ({"a": said} if contested else {})
    assert (f"a: {said}" in both.logged().notes) == contested
    few = collected([(step, {"a": 1.0}) for step in (1, 2, 3, 4, 4, 5)])
    assert few.logged().unread == {}


def test_a_file_that_is_sorted_the_other_way_round_is_no_run_that_was_resumed() -> None:
    falling = collected([(step, {"a": float(step)}) for step in range(9, 0, -1)])
    assert by_step(falling) == {step: float(step) for step in range(1, 10)}
    assert list(falling.logged().notes) == [
        "its steps fall from the first line to the last: it is sorted the other way round, and read so"
    ]


@pytest.mark.parametrize("steps", [[3, 1, 2, 6, 5, 4], [2, 1], [1, 2, 3, 4, 6, 5]])
def test_what_is_sorted_in_no_order_is_no_run_that_was_resumed(steps: list[int]) -> None:
    """Unless it is a log, or a step is there twice."""
    records = [(step, {"a": float(step)}) for step in steps]
    table = collected(records, in_time=False)
    assert by_step(table) == {step: float(step) for step in steps}
    assert list(table.logged().notes) == ["its steps are in no order, and each is there once: it is read by step"]
    for resumed in (collected(records), collected([*records, (1, {"a": 0.0})], in_time=False)):
        assert len(by_step(resumed)) < len(steps)
        assert "read by step" not in " ".join(resumed.logged().notes)


@pytest.mark.parametrize("steps", [[*range(40, 0, -1)], [step * 17 % 41 for step in range(1, 41)]])
@pytest.mark.parametrize(("again", "unlike"), [(0.0, True), (None, False)])
def test_a_table_in_no_order_of_time_may_have_a_step_twice(steps: list[int], again: float | None, unlike: bool) -> None:
    """Nobody can tell which of its values came later, where they are not the same."""
    records = [(step, {"a": float(step)}) for step in steps]
    at = steps.index(9)
    twice = [*records[: at + 1], (9, {"a": 9.0 if again is None else again}), *records[at + 1 :]]
    table = collected(twice, in_time=False)
    assert set(by_step(table)) == set(steps)
    assert "read" in table.logged().notes[-1 - unlike]
    said = "1 of its 40 steps have several values, in no order of time"
    assert table.logged().unread == ({"a": said} if unlike else {})
    table.follow(collected([(step, {"a": 1.0}) for step in range(40, 50)]))
    assert table.logged().unread == ({"a": said} if unlike else {})


def test_a_long_table_of_a_run_that_was_resumed_often_is_in_order() -> None:
    steps = chain.from_iterable(range(start, start + 14) for start in range(0, 80, 10))
    assert len(by_step(collected([(step, {"a": 1.0}) for step in steps], in_time=False))) == 84


def test_files_that_fall_follow_each_other_as_those_that_rise() -> None:
    run = collected([(step, {"a": 1.0}) for step in (5, 4, 3, 2, 1)])
    run.follow(collected([(step, {"a": 2.0}) for step in (8, 7, 6, 5)]))
    assert by_step(run) == {**dict.fromkeys(range(1, 5), 1.0), **dict.fromkeys(range(5, 9), 2.0)}
    assert list(run.logged().notes) == [
        "its steps fall from the first line to the last: it is sorted the other way round, and read so",
        "1 values were logged twice for their step: the later ones count",
    ]


def test_a_later_file_of_a_run_leaves_behind_what_the_first_logged_for_later_steps() -> None:
    run = collected([(step, {"a": 1.0, "b": 1.0}) for step in range(1, 9)])
    run.follow(collected([(step, {"a": 2.0}) for step in range(6, 8)]))
    assert by_step(run) == {**dict.fromkeys(range(1, 6), 1.0), 6: 2.0, 7: 2.0}
    assert by_step(run, "b") == dict.fromkeys(range(1, 7), 1.0)
    assert run.logged().notes[0].startswith("goes back from step 8 to 6: it was resumed")


@given(st.integers(1, 30), st.lists(st.tuples(st.integers(1, 29), st.integers(0, 12)), max_size=6))
def test_a_run_that_was_resumed_ends_as_one_that_was_not(last: int, interruptions: list[tuple[int, int]]) -> None:
    """Whatever was lost on the way, at the end there are the values of the final pass over each step."""
    records: list[tuple[int, dict[str, float]]] = []
    attempt, at = 0, 0
    for until, back in [*interruptions, (last, 0)]:
        for step in range(at + 1, max(at, until) + 1):
            records.append((step, {"a": float(step), "attempt": float(attempt)}))
        at, attempt = max(0, max(at, until) - back), attempt + 1
    if not records:
        return
    collector = collected(records)
    final = by_step(collector)
    # The uninterrupted run up to where the last record stands.
    reached = records[-1][0]
    assert final == {step: float(step) for step in range(1, reached + 1)}
    attempts = by_step(collector, "attempt")
    assert list(attempts.values()) == sorted(attempts.values())
