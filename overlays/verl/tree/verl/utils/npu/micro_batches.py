"""Micro-batches that respect the token budget: sequence lengths in, how many micro-batches are needed out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Partition = Callable[[int], Sequence[Sequence[int]]]


def lowest_count(
    lengths: Sequence[int],
    max_tokens: int,
    *,
    partition: Partition,
    smallest_batch: Callable[[int], int],
    divisor: int | None,
    at_least: int | None,
) -> int:
    """Return the count of micro-batches to ask verl for at least, so that none exceeds the token budget.

    Args:
        lengths: tokens of every sequence of this rank.
        max_tokens: the budget of one micro-batch.
        partition: how verl will split the sequences into a given number of micro-batches.
        smallest_batch: from this rank's number of sequences, that of the rank with the fewest.
        divisor: what verl rounds the count up to a multiple of.
        at_least: what the caller asks for.
    """
    at_most = highest_count(smallest_batch(len(lengths)), divisor)
    needed = micro_batches_needed(lengths, max_tokens, partition=partition, at_most=at_most)
    return max(needed, at_least or 1)


def micro_batches_needed(
    lengths: Sequence[int], max_tokens: int, *, partition: Partition, at_least: int = 1, at_most: int | None = None
) -> int:
    """Return the smallest count, from `at_least` on, for which no micro-batch exceeds the token budget.

    Args:
        lengths: tokens of every sequence.
        max_tokens: the budget of one micro-batch.
        partition: how verl will split the sequences into a given number of micro-batches.
        at_least: where to begin.
        at_most: how many there may be; the number of sequences when not given.

    Returns:
        The count; `at_most` when the budget cannot be kept with that many.
    """
    limit = min(len(lengths), len(lengths) if at_most is None else at_most)
    count = max(1, at_least, -(-sum(lengths) // max_tokens))
    while count < limit and _largest(lengths, partition(count)) > max_tokens:
        count += 1
    return min(count, limit)


def highest_count(sequences: int, divisor: int | None) -> int:
    """Return how many micro-batches `sequences` sequences allow when the count must be a multiple of `divisor`."""
    return sequences // divisor * divisor if divisor else sequences


def _largest(lengths: Sequence[int], partitions: Sequence[Sequence[int]]) -> int:
    return max(sum(lengths[index] for index in part) for part in partitions)
