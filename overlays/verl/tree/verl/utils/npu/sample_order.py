"""The order in which a batch's samples are generated: the samples of one prompt go to different ranks.

verl sends the n samples of a prompt to one data-parallel rank, so a prompt with
long answers keeps one rank busy while the others wait. Only the order of
generation changes. The answers come back in the batch's own order, so that
groups (GRPO, DAPO) stay whole wherever the batch is split.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

_MARK = "_verl_npu_spreads_samples"


def spread_order(samples: int, group: int) -> list[int]:
    """Return the order of generation: the first sample of every prompt, then the second of every prompt, and so on.

    Args:
        samples: number of samples in the batch.
        group: number of adjacent samples that belong to one prompt.

    Returns:
        Positions in the batch; the batch's own order if it does not consist of whole groups.
    """
    if group < 1 or samples % group:
        return list(range(samples))
    return [prompt * group + sample for sample in range(group) for prompt in range(samples // group)]


def inverse(order: list[int]) -> list[int]:
    """Return the inverse of the permutation `order`."""
    inverted = [0] * len(order)
    for position, index in enumerate(order):
        inverted[index] = position
    return inverted


def with_spread_samples(generate: Callable[..., Any], group: int) -> Callable[..., Any]:
    """Return `generate` such that it spreads samples, and returns answers in the caller's order."""
    if group < 2 or getattr(generate, _MARK, False):  # noqa: PLR2004  # one sample cannot be spread
        return generate

    @wraps(generate)
    def spread(prompts: Any, *args: Any, **kwargs: Any) -> Any:
        order = spread_order(len(prompts), group)
        output = generate(prompts.select_idxs(order), *args, **kwargs)
        if len(output) != len(order):
            raise RuntimeError(f"generation returned {len(output)} samples for {len(order)}; cannot restore the order")
        return output.select_idxs(inverse(order))

    setattr(spread, _MARK, True)
    return spread


def spread_generation(trainer: Any) -> None:
    """Let a trainer's workers spread samples, if ``rollout.spread_samples`` is set or, by default, on NPUs.

    Args:
        trainer: a trainer with ``config`` and ``actor_rollout_wg``.
    """
    rollout = trainer.config.actor_rollout_ref.rollout
    wanted = rollout.get("spread_samples", None)
    if wanted is None:
        wanted = trainer.config.trainer.get("device", "") == "npu"
    if wanted:
        workers = trainer.actor_rollout_wg
        workers.generate_sequences = with_spread_samples(workers.generate_sequences, int(rollout.n))
