"""Spread the samples of one prompt over data-parallel ranks for generation, and put the answers back in order.

verl sends the n samples of a prompt to one rank, so a prompt with long
answers keeps one rank busy while the others wait. Only the order in which
samples are generated changes: the trainer gets its batch back in its own
order, so groups (GRPO, DAPO) stay whole wherever it is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

_MARK = "_verl_npu_spreads_samples"


def spread_order(samples: int, group: int) -> list[int]:
    """Return in which order to generate: first sample of every prompt, second of every prompt, and so on.

    Args:
        samples: samples in the batch.
        group: adjacent samples that belong to one prompt.

    Returns:
        Positions in the batch; the batch's own order when it is not made of whole groups.
    """
    if group < 1 or samples % group:
        return list(range(samples))
    return [prompt * group + sample for sample in range(group) for prompt in range(samples // group)]


def inverse(order: list[int]) -> list[int]:
    """Return the order that undoes `order`."""
    undone = [0] * len(order)
    for position, index in enumerate(order):
        undone[index] = position
    return undone


def spreading(generate: Callable[..., Any], group: int) -> Callable[..., Any]:
    """Return a generation call that spreads samples and answers in the caller's order."""
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
    """Let a trainer's workers generate spread samples, if its config asks for it or trains on NPUs.

    Args:
        trainer: has ``config`` and ``actor_rollout_wg``.
    """
    rollout = trainer.config.actor_rollout_ref.rollout
    wanted = rollout.get("spread_samples", None)
    if wanted is None:
        wanted = trainer.config.trainer.get("device", "") == "npu"
    if wanted:
        workers = trainer.actor_rollout_wg
        workers.generate_sequences = spreading(workers.generate_sequences, int(rollout.n))
