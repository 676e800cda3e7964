"""Log-probabilities and entropy of a linear output layer in plain torch, for devices without the Triton kernels.

Arguments and results are those of ``verl.utils.kernel.linear_cross_entropy``:
hidden states (..., H), output weights (V, H) or this rank's rows of them, and
labels (...) in; one log-probability and one entropy per token, in float32, out.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

# Logits exist for this many tokens at a time; the backward pass recomputes them.
TOKENS_AT_ONCE = 2048

Result = tuple[torch.Tensor, torch.Tensor]


def by_device(kernel: Callable[..., Result]) -> Callable[..., Result]:
    """Return a function that runs the Triton kernel on CUDA and plain torch everywhere else."""

    def linear_cross_entropy(hidden: torch.Tensor, *args: Any) -> Result:
        return kernel(hidden, *args) if hidden.is_cuda else torch_linear_cross_entropy(hidden, *args)

    return linear_cross_entropy


def torch_linear_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    temperature: float | None = 1.0,
    reduction: str | None = "none",
    dist_process_group: Any = None,
) -> Result:
    """Return the log-probabilities of the labels and the entropies of the distributions.

    Args:
        hidden: (..., H); flattened to tokens.
        weight: (V, H); with a group, this rank's rows.
        labels: (...), positions in the whole vocabulary.
        temperature: divides the logits; None for 1.
        reduction: ``none``, ``sum`` or ``mean`` over the log-probabilities.
        dist_process_group: ranks that share the vocabulary.

    Raises:
        ValueError: the temperature is not a number above 0.
    """
    scale = _number(temperature)
    tokens, flat_labels = hidden.reshape(-1, hidden.shape[-1]), labels.reshape(-1)
    parts = [
        checkpoint(_chunk, part, weight, label, scale, dist_process_group, use_reentrant=False)
        for part, label in zip(tokens.split(TOKENS_AT_ONCE), flat_labels.split(TOKENS_AT_ONCE), strict=True)
    ]
    logprobs, entropy = (torch.cat(column) for column in zip(*parts, strict=True))
    reduced = {"none": lambda: logprobs, "sum": logprobs.sum, "mean": logprobs.mean}[(reduction or "none").lower()]()
    return reduced, entropy


def _number(temperature: object) -> float:
    if temperature is None:
        return 1.0
    if not isinstance(temperature, Real) or not temperature > 0:
        raise ValueError(f"temperature must be one number above 0 for all tokens, not {temperature!r}")
    return float(temperature)


def _chunk(hidden: torch.Tensor, weight: torch.Tensor, labels: torch.Tensor, temperature: float, group: Any) -> Result:
    logits = (hidden @ weight.t()).float() / temperature
    highest = logits.detach().max(dim=-1).values
    if group is not None:
        dist.all_reduce(highest, op=dist.ReduceOp.MAX, group=group)
    shifted = logits - highest.unsqueeze(-1)
    exponents = shifted.exp()
    total = _summed(exponents.sum(dim=-1), group)
    expected = _summed((exponents * shifted).sum(dim=-1), group) / total
    first = dist.get_rank(group) * weight.shape[0] if group is not None else 0
    here = (labels >= first) & (labels < first + weight.shape[0])
    column = torch.where(here, labels - first, 0).unsqueeze(-1)
    chosen = _summed(torch.where(here, shifted.gather(-1, column).squeeze(-1), 0.0), group)
    return chosen - total.log(), total.log() - expected


class _SumOverGroup(torch.autograd.Function):
    """Sum over the ranks; the backward passes each rank's gradient on unchanged, as Megatron's reduce does."""

    @staticmethod
    def forward(ctx: Any, value: torch.Tensor, group: Any) -> torch.Tensor:  # noqa: ARG004  # torch's protocol
        summed = value.clone()
        dist.all_reduce(summed, group=group)
        return summed

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:  # noqa: ARG004  # torch's protocol
        return gradient, None


def _summed(value: torch.Tensor, group: Any) -> torch.Tensor:
    return value if group is None else _SumOverGroup.apply(value, group)
