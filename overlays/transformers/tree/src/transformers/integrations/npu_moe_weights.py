"""Mixtures of experts whose weights are two tensors, on Ascend NPUs: two grouped products compute all experts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from .npu_grouped import Groups
from .npu_grouped_mm import can_use_grouped_mm, multiply_groups
from .npu_kernels import FUSED_DTYPES, on_npu
from .npu_routing import combine, dispatch, expert_numbers, group_ends


@dataclass(frozen=True, kw_only=True)
class ExpertWeights:
    """The weights and the activation of a layer's experts.

    Args:
        up: shape (experts, hidden, inner), contiguous or a transposed view; with a gate, `inner` holds gate and up.
        down: shape (experts, intermediate, hidden), contiguous or a transposed view.
        activate: maps shape (rows, inner) to (rows, intermediate).
        up_bias: None, or shape (experts, inner).
        down_bias: None, or shape (experts, hidden).
    """

    up: torch.Tensor
    down: torch.Tensor
    activate: Callable[[torch.Tensor], torch.Tensor]
    up_bias: torch.Tensor | None = None
    down_bias: torch.Tensor | None = None

    @property
    def biases(self) -> tuple[torch.Tensor, ...]:
        """The biases that are not None."""
        return tuple(bias for bias in (self.up_bias, self.down_bias) if bias is not None)


def expert_weights(experts: Any) -> ExpertWeights:
    """Return the weights of a module that transformers 5 dispatches; its decorator describes their layout."""
    name = "gate_up_proj" if experts.has_gate else "up_proj"
    up, down = getattr(experts, name), experts.down_proj
    return ExpertWeights(
        up=up if experts.is_transposed else up.transpose(-2, -1),
        down=down if experts.is_transposed else down.transpose(-2, -1),
        activate=experts._apply_gate if experts.has_gate else experts.act_fn,
        up_bias=getattr(experts, f"{name}_bias") if experts.has_bias else None,
        down_bias=experts.down_proj_bias if experts.has_bias else None,
    )


def can_use_expert_weights(
    tokens: torch.Tensor, experts: ExpertWeights, selected: torch.Tensor, weights: torch.Tensor
) -> bool:
    """Return whether :func:`npu_expert_weights` computes the result of running the experts one by one.

    False for experts of mixed dtypes, and for anything that the grouped product does not support.
    """
    ends = torch.empty(len(experts.up), dtype=torch.int64, device=tokens.device)
    return (
        all(on_npu(tensor) for tensor in (selected, weights, *experts.biases))
        and selected.dim() == 2  # noqa: PLR2004  # tokens, experts of each
        and len(selected) == len(tokens)
        and weights.dtype in FUSED_DTYPES
        and all(tensor.dtype == experts.up.dtype for tensor in (experts.down, *experts.biases))
        and can_use_grouped_mm(tokens, experts.up, ends)
        and can_use_grouped_mm(tokens.new_empty(1, experts.down.shape[1]), experts.down, ends)
    )


def npu_expert_weights(
    tokens: torch.Tensor, experts: ExpertWeights, selected: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Return every token's weighted sum of its selected experts' outputs.

    Args:
        tokens: shape (tokens, hidden).
        experts: the layer's experts.
        selected: shape (tokens, top_k), integer: the experts of each token; a larger number denotes an expert of
            another rank (expert parallelism), which adds nothing here.
        weights: shape (tokens, top_k): the routing weights.

    Returns:
        Shape (tokens, hidden), dtype of `tokens`.
    """
    numbers = expert_numbers(selected)
    ends = group_ends(numbers, len(experts.up))
    # The operator needs every row in a group: rows without an expert here join the last group, with weight 0.
    ends[-1:].fill_(selected.numel())
    groups, weights = Groups(ends), weights * (selected < len(experts.up))
    rows, routing = dispatch(tokens.to(experts.up.dtype), selected, numbers)
    of_rows = numbers.sort().values.to(torch.int64).clamp(max=len(experts.up) - 1) if experts.biases else None
    inner = experts.activate(_project(rows, experts.up, groups, experts.up_bias, of_rows))
    output = _project(inner, experts.down, groups, experts.down_bias, of_rows)
    return combine(output, routing, weights).to(tokens.dtype)


def _project(
    rows: torch.Tensor, weight: torch.Tensor, groups: Groups, bias: torch.Tensor | None, of_rows: torch.Tensor | None
) -> torch.Tensor:
    """Return rows times the matrix of their expert, plus its bias; `of_rows` holds the number of each row's expert."""
    rows = multiply_groups(rows, weight, groups)
    return rows if bias is None else rows + bias.index_select(0, of_rows)
