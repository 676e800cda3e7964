"""Routing of tokens to experts on Ascend NPUs: sort them by expert and restore their order, without the host."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from .npu_kernels import can_use_permute


def expert_numbers(selected: torch.Tensor) -> torch.Tensor:
    """Return the expert of every (token, expert) pair, flat; in fp32, as some versions sort integers on the host."""
    return selected.reshape(-1).to(torch.float32)


def group_ends(numbers: torch.Tensor, experts: int) -> torch.Tensor:
    """Return the end of each expert's rows: the cumulative number of pairs per expert, int64, on the device."""
    # With one expert, equal bounds would make histc read the range from the device.
    counts = torch.histc(numbers, bins=experts, min=0, max=max(experts - 1, 1))
    return counts.cumsum(0, dtype=torch.int64)


def dispatch(
    hidden_states: torch.Tensor, selected: torch.Tensor, numbers: torch.Tensor
) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
    """Return the rows of `hidden_states` sorted by expert, one per pair, and the routing that :func:`combine` needs."""
    if can_use_permute(hidden_states, selected):
        tokens, positions = torch.ops.npu.npu_moe_token_permute(hidden_states, selected.to(torch.int64))
        return tokens, (positions,)
    order = numbers.argsort(stable=True)
    positions = torch.empty_like(order)
    positions[order] = torch.arange(order.numel(), device=order.device)
    return _TakeTokens.apply(hidden_states, order, positions), (positions, order)


def combine(rows: torch.Tensor, routing: tuple[torch.Tensor, ...], weights: torch.Tensor) -> torch.Tensor:
    """Return each token's sum of its pairs' rows times their weights, in the dtype of the product."""
    positions, *order = routing
    if not order and rows.dtype == weights.dtype:
        return torch.ops.npu.npu_moe_token_unpermute(rows, positions, weights)
    if order:
        unsorted = _Reorder.apply(rows, positions, *order)
    else:
        # The operator needs weights of the rows' dtype; without weights it only restores the order.
        unsorted = torch.ops.npu.npu_moe_token_unpermute(rows, positions)
    return (unsorted.view(*weights.shape, -1) * weights.unsqueeze(-1)).sum(dim=1)


class _TakeTokens(torch.autograd.Function):
    """Take every token once per selected expert, sorted; the backward gathers and sums instead of scattering."""

    @staticmethod
    def forward(ctx: Any, hidden_states: torch.Tensor, order: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        top_k = order.numel() // hidden_states.shape[0]
        ctx.save_for_backward(positions)
        ctx.top_k = top_k
        return hidden_states.index_select(0, order // top_k)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (positions,) = ctx.saved_tensors
        per_pair = gradient.index_select(0, positions)
        return per_pair.view(-1, ctx.top_k, gradient.shape[-1]).sum(dim=1), None, None


class _Reorder(torch.autograd.Function):
    """Permute rows by `index`; the backward permutes by `inverse`, so neither direction scatters."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, index: torch.Tensor, inverse: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(inverse)
        return rows.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (inverse,) = ctx.saved_tensors
        return gradient.index_select(0, inverse), None, None
