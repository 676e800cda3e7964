"""Micro-batches that respect the token budget: from sequence lengths to the number of micro-batches."""

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
    """Return the minimum number of micro-batches to request from verl, so that none exceeds the token budget.

    Args:
        lengths: number of tokens of each sequence of this rank.
        max_tokens: the budget of one micro-batch.
        partition: splits the sequences into a given number of micro-batches, as verl will.
        smallest_batch: maps this rank's number of sequences to the lowest number of any rank.
        divisor: verl rounds the count up to a multiple of this; None if it does not.
        at_least: the minimum that the caller requests; None if there is none.
    """
    at_most = highest_count(smallest_batch(len(lengths)), divisor)
    needed = micro_batches_needed(lengths, max_tokens, partition=partition, at_most=at_most)
    return max(needed, at_least or 1)


def micro_batches_needed(
    lengths: Sequence[int], max_tokens: int, *, partition: Partition, at_least: int = 1, at_most: int | None = None
) -> int:
    """Return the smallest count, starting at `at_least`, for which no micro-batch exceeds the token budget.

    Args:
        lengths: number of tokens of each sequence.
        max_tokens: the budget of one micro-batch.
        partition: splits the sequences into a given number of micro-batches, as verl will.
        at_least: the lowest count to try.
        at_most: the highest count; None for the number of sequences.

    Returns:
        The count; `at_most` if even that many exceed the budget.
    """
    limit = min(len(lengths), len(lengths) if at_most is None else at_most)
    count = max(1, at_least, -(-sum(lengths) // max_tokens))
    while count < limit and _largest(lengths, partition(count)) > max_tokens:
        count += 1
    return min(count, limit)


def highest_count(sequences: int, divisor: int | None) -> int:
    """Return the highest number of micro-batches for `sequences` sequences that is a multiple of `divisor`."""
    return sequences // divisor * divisor if divisor else sequences


def _largest(lengths: Sequence[int], partitions: Sequence[Sequence[int]]) -> int:
    return max(sum(lengths[index] for index in part) for part in partitions)
