"""Mixtures of experts that keep all weights in two tensors, on Ascend NPUs: two grouped products for all experts."""

from __future__ import annotations

import torch

from .npu_grouped_mm import can_use_grouped_mm, npu_grouped_mm
from .npu_kernels import can_use_swiglu, npu_gated, product_dtype
from .npu_moe import combine, dispatch, group_ends


def can_use_expert_weights(
    hidden_states: torch.Tensor, gate_up: torch.Tensor, down: torch.Tensor, activation: object, weights: torch.Tensor
) -> bool:
    """Return whether :func:`npu_expert_weights` computes what running one expert after the other would.

    False for other activations than SiLU, mixed dtypes, autocast to another
    dtype, under which upstream's router fails, and whatever the grouped
    product does not take.
    """
    dtype = hidden_states.dtype
    if not can_use_swiglu(hidden_states, activation) or product_dtype(hidden_states) != dtype:
        return False
    ends = torch.empty(len(gate_up), dtype=torch.int64, device=hidden_states.device)
    rows, gated = hidden_states.flatten(0, -2), hidden_states.new_empty(1, down.shape[1])
    return (
        dtype == gate_up.dtype == down.dtype == weights.dtype
        and can_use_grouped_mm(rows, gate_up, ends)
        and can_use_grouped_mm(gated, down, ends)
    )


def npu_expert_weights(
    tokens: torch.Tensor, gate_up: torch.Tensor, down: torch.Tensor, selected: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Return every token's weighted sum of its selected experts' outputs.

    Args:
        tokens: shape (tokens, hidden).
        gate_up: shape (experts, hidden, 2 * intermediate), the gate's half first.
        down: shape (experts, intermediate, hidden).
        selected: shape (tokens, top_k), integer: which experts each token goes to.
        weights: shape (tokens, top_k), dtype of `tokens`: the routing weights.

    Returns:
        Shape (tokens, hidden), dtype of `tokens`.
    """
    ends = group_ends(selected, len(gate_up))
    rows, routing = dispatch(tokens, selected, weights)
    gated = npu_gated(npu_grouped_mm(rows, gate_up, ends))
    return combine(npu_grouped_mm(gated, down, ends), routing, weights)
