"""The split of a batch into micro-batches, and the order in which samples are generated."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from .layer import load

micro_batches = load("utils.npu.micro_batches")
sample_order = load("utils.npu.sample_order")

MAX_TOKENS = 64
LENGTHS = st.lists(st.integers(1, MAX_TOKENS), min_size=1, max_size=24)
Partition = Callable[[int], list[list[int]]]


def longest_first(lengths: Sequence[int]) -> Partition:
    """Return a partition like verl's: never an empty part, sums close to each other, not always under the budget."""

    def partition(count: int) -> list[list[int]]:
        order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
        parts: list[list[int]] = [[index] for index in order[:count]]
        for index in order[count:]:
            min(parts, key=lambda part: sum(lengths[one] for one in part)).append(index)
        return parts

    return partition


def unlucky(lengths: Sequence[int], seed: int) -> Partition:
    """Return a partition that balances badly, to which the same rules must apply."""

    def partition(count: int) -> list[list[int]]:
        generator = random.Random(seed * 100 + count)  # noqa: S311
        order = generator.sample(range(len(lengths)), len(lengths))
        parts = [[index] for index in order[:count]]
        for index in order[count:]:
            generator.choice(parts).append(index)
        return parts

    return partition


def largest(lengths: Sequence[int], parts: list[list[int]]) -> int:
    return max(sum(lengths[index] for index in part) for part in parts)


@given(lengths=LENGTHS, seed=st.integers(0, 5), at_least=st.integers(1, 30), data=st.data())
def test_the_count_is_the_lowest_within_the_budget(
    lengths: list[int], seed: int, at_least: int, data: st.DataObject
) -> None:
    partition = data.draw(st.sampled_from([longest_first(lengths), unlucky(lengths, seed)]))
    at_most = data.draw(st.none() | st.integers(1, len(lengths)))

    count = micro_batches.micro_batches_needed(
        lengths, MAX_TOKENS, partition=partition, at_least=at_least, at_most=at_most
    )

    limit = len(lengths) if at_most is None else at_most
    lowest = max(at_least, -(-sum(lengths) // MAX_TOKENS))
    assert 1 <= count <= limit
    assert count == limit or largest(lengths, partition(count)) <= MAX_TOKENS
    assert count >= min(lowest, limit)
    assert all(largest(lengths, partition(fewer)) > MAX_TOKENS for fewer in range(lowest, count))


@given(lengths=LENGTHS)
def test_with_no_limit_the_budget_is_always_kept(lengths: list[int]) -> None:
    partition = longest_first(lengths)

    count = micro_batches.micro_batches_needed(lengths, MAX_TOKENS, partition=partition)

    assert largest(lengths, partition(count)) <= MAX_TOKENS


def test_upstreams_count_can_exceed_the_budget() -> None:
    lengths = [40, 40, 40]
    upstream = -(-sum(lengths) // MAX_TOKENS)

    assert largest(lengths, longest_first(lengths)(upstream)) > MAX_TOKENS
    assert micro_batches.micro_batches_needed(lengths, MAX_TOKENS, partition=longest_first(lengths)) == 3


def test_no_more_parts_than_the_maximum_are_requested() -> None:
    lengths = [2 * MAX_TOKENS, 60, 60, 60]

    def partition(count: int) -> list[list[int]]:
        assert count <= len(lengths), "verl cannot split so few sequences into so many parts"
        return longest_first(lengths)(count)

    assert micro_batches.micro_batches_needed(lengths, MAX_TOKENS, partition=partition) == 4


@pytest.mark.parametrize(
    ("sequences", "divisor", "highest"), [(7, 2, 6), (7, None, 7), (7, 1, 7), (8, 4, 8), (3, 4, 0)]
)
def test_a_count_is_a_multiple_of_the_divisor(sequences: int, divisor: int | None, highest: int) -> None:
    assert micro_batches.highest_count(sequences, divisor) == highest


def test_a_rank_requests_only_the_micro_batches_it_needs() -> None:
    assert micro_batches.micro_batches_needed([5, 5, 5, 5], MAX_TOKENS, partition=longest_first([5, 5, 5, 5])) == 1


@given(lengths=LENGTHS, divisor=st.integers(1, 8), other_rank=st.integers(1, 24))
def test_rounding_and_the_smallest_rank_leave_no_part_empty(lengths: list[int], divisor: int, other_rank: int) -> None:
    smallest = min(len(lengths), other_rank)
    highest = micro_batches.highest_count(smallest, divisor)

    count = micro_batches.micro_batches_needed(
        lengths, MAX_TOKENS, partition=longest_first(lengths), at_most=max(highest, 1)
    )

    rounded = -(-count // divisor) * divisor
    assert highest == 0 or rounded <= smallest


@given(lengths=LENGTHS, other_rank=st.integers(1, 24), at_least=st.none() | st.integers(1, 30))
def test_the_requested_count_is_the_callers_minimum_or_the_budgets(
    lengths: list[int], other_rank: int, at_least: int | None
) -> None:
    asked = micro_batches.lowest_count(
        lengths,
        MAX_TOKENS,
        partition=longest_first(lengths),
        smallest_batch=lambda sequences: min(sequences, other_rank),
        divisor=None,
        at_least=at_least,
    )

    smallest = min(len(lengths), other_rank)
    needed = micro_batches.micro_batches_needed(lengths, MAX_TOKENS, partition=longest_first(lengths), at_most=smallest)
    assert asked == max(needed, at_least or 1)


@given(prompts=st.integers(0, 12), group=st.integers(1, 8))
def test_the_spread_order_is_a_permutation_that_its_inverse_undoes(prompts: int, group: int) -> None:
    order = sample_order.spread_order(prompts * group, group)
    back = sample_order.inverse(order)

    assert sorted(order) == list(range(prompts * group))
    assert [order[position] for position in back] == list(range(prompts * group))


@given(prompts=st.integers(1, 12), group=st.integers(1, 8), ranks=st.integers(1, 8))
def test_each_prompts_samples_go_to_as_many_ranks_as_possible(prompts: int, group: int, ranks: int) -> None:
    samples = prompts * group
    assume(samples % ranks == 0)
    share = samples // ranks
    order = sample_order.spread_order(samples, group)
    places = {sample: position // share for position, sample in enumerate(order)}

    for prompt in range(prompts):
        used = {places[prompt * group + sample] for sample in range(group)}
        assert len(used) >= min(group, ranks, max(1, (group - 1) * prompts // share))


def test_a_batch_that_is_not_made_of_whole_groups_keeps_its_order() -> None:
    assert sample_order.spread_order(7, 4) == list(range(7))


class Batch:
    """A stub of a batch of samples."""

    def __init__(self, samples: Sequence[str]) -> None:
        self.samples = list(samples)

    def __len__(self) -> int:
        return len(self.samples)

    def select_idxs(self, indices: list[int]) -> Batch:
        return Batch([self.samples[index] for index in indices])


def answers(prompts: Batch) -> Batch:
    return Batch([f"{sample}!" for sample in prompts.samples])


def test_groups_stay_whole_wherever_the_trainer_splits_the_batch() -> None:
    batch = Batch([f"prompt{prompt}" for prompt in range(6) for _ in range(4)])
    seen: list[list[str]] = []

    def generate(prompts: Batch) -> Batch:
        seen.append(prompts.samples)
        return answers(prompts)

    output = sample_order.with_spread_samples(generate, 4)(batch)

    assert seen[0][:6] == [f"prompt{prompt}" for prompt in range(6)]
    cut = output.samples[:16]
    assert [cut.count(f"prompt{prompt}!") for prompt in range(6)] == [4, 4, 4, 4, 0, 0]


def test_a_trainer_fitted_twice_spreads_once() -> None:
    once = sample_order.with_spread_samples(answers, 4)

    assert sample_order.with_spread_samples(once, 4) is once


def test_one_sample_per_prompt_is_not_spread() -> None:
    assert sample_order.with_spread_samples(answers, 1) is answers


def test_an_output_of_another_size_is_refused() -> None:
    generate = sample_order.with_spread_samples(lambda prompts: Batch(prompts.samples[:-1]), 2)

    with pytest.raises(RuntimeError, match="cannot restore the order"):
        generate(Batch(["a", "a", "b", "b"]))


class Namespace(dict[str, Any]):
    """A stub of a config: names are attributes, and ``get`` has a default."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


@pytest.mark.parametrize(
    ("wanted", "device", "spread"),
    [(None, "npu", True), (None, "cuda", False), (True, "cuda", True), (False, "npu", False)],
)
def test_samples_are_spread_on_npus_or_as_configured(wanted: Any, device: str, *, spread: bool) -> None:
    rollout = Namespace(n=4, spread_samples=wanted)
    config = Namespace(actor_rollout_ref=Namespace(rollout=rollout), trainer=Namespace(device=device))

    class Workers:
        generate_sequences = staticmethod(answers)

    class Trainer:
        def __init__(self) -> None:
            self.config, self.actor_rollout_wg = config, Workers()

    trainer = Trainer()
    sample_order.spread_generation(trainer)

    assert (trainer.actor_rollout_wg.generate_sequences is not answers) is spread
