"""Mixtures of experts on Ascend NPUs: a few grouped operators compute all experts of a layer.

The usual loop launches several operators per expert and waits for the host to
learn which experts have tokens. Here the (token, expert) pairs are sorted by
expert, and three grouped matrix products compute all experts' MLPs. Nothing is
copied to the host.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from .npu_grouped import (
    MAX_GROUPS,
    MAX_INNER,
    Groups,
    grouped_products,
    grouped_reductions,
    has_grouped_products,
    takes_list,
)
from .npu_kernels import (
    FUSED_DTYPES,
    autocast_enabled,
    is_hooked,
    is_silu,
    npu_gated,
    npu_swiglu,
    on_npu,
    product_dtype,
)
from .npu_routing import combine, dispatch, expert_numbers, group_ends

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def can_use_grouped_experts(hidden_states: torch.Tensor, experts: Iterable[nn.Module], expert_class: type) -> bool:
    """Return whether :func:`npu_grouped_experts` computes the result of calling each expert.

    Args:
        hidden_states: input of the layer, on an NPU, fp16, bf16 or fp32.
        experts: the expert MLPs.
        expert_class: the exact class that the experts must have.

    False for quantized, adapted (LoRA), individually sharded or hooked experts,
    whose calls do more than read a weight; for activations other than SiLU; for
    weights of another dtype than the input's, unless autocast casts them; for
    weights of different memory layouts, which the operator refuses; and under
    torch.compile, which cannot see that a grouped matrix product has no
    backward.
    """
    if not on_npu(hidden_states) or hidden_states.numel() == 0 or torch.compiler.is_compiling():
        return False
    if hidden_states.dtype not in FUSED_DTYPES or not has_grouped_products():
        return False
    experts = tuple(experts)
    dtypes = FUSED_DTYPES if autocast_enabled(hidden_states.device) else (hidden_states.dtype,)
    return (
        0 < len(experts) <= MAX_GROUPS
        and all(_is_plain(expert, expert_class, dtypes) for expert in experts)
        and all(_are_alike(expert, experts[0]) for expert in experts)
    )


def npu_grouped_experts(
    hidden_states: torch.Tensor, experts: Iterable[nn.Module], selected: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Return every token's weighted sum of its selected experts' outputs.

    Args:
        hidden_states: shape (tokens, hidden).
        experts: MLPs with bias-free `gate_proj`, `up_proj` and `down_proj`.
        selected: shape (tokens, top_k), integer: the experts of each token.
        weights: shape (tokens, top_k), dtype of `hidden_states`: the routing weights.

    Returns:
        Shape (tokens, hidden), dtype of `hidden_states`.

    Experts without a token get zero gradients, while calling each expert leaves
    their ``.grad`` at None. To tell them apart, the host would have to wait.
    """
    experts = tuple(experts)
    numbers = expert_numbers(selected)
    groups = Groups(group_ends(numbers, len(experts)))
    rows, routing = dispatch(hidden_states.to(product_dtype(hidden_states)), selected, numbers)
    gates = [expert.gate_proj.weight for expert in experts]
    ups = [expert.up_proj.weight for expert in experts]
    downs = [expert.down_proj.weight for expert in experts]
    if takes_list(gates, rows.dtype):
        gated = npu_swiglu(grouped_linear(rows, groups, gates), grouped_linear(rows, groups, ups))
    else:
        # The weights are copied into one tensor anyway, so one product is enough.
        both = chain.from_iterable(zip(gates, ups, strict=True))
        gated = npu_gated(grouped_linear(rows, groups, [*both]))
    return combine(grouped_linear(gated, groups, downs), routing, weights).to(hidden_states.dtype)


def grouped_linear(tokens: torch.Tensor, groups: Groups, weights: list[torch.Tensor]) -> torch.Tensor:
    """Return ``tokens[group] @ weights[group].T`` for consecutive groups of rows, differentiable.

    Args:
        tokens: shape (rows, in), sorted by group.
        groups: the groups of the rows.
        weights: one per group, shape (out, in), of equal layout; or several per group, whose results are concatenated.

    Returns:
        Shape (rows, weights per group * out), dtype of `tokens`.
    """
    return _GroupedLinear.apply(tokens, groups, *weights)


class _GroupedLinear(torch.autograd.Function):
    """`npu_grouped_matmul` with a backward, which no version of torch_npu has."""

    @staticmethod
    def forward(ctx: Any, tokens: torch.Tensor, groups: Groups, *weights: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(tokens, *weights)
        ctx.groups = groups
        matrices = [matrix.transpose(-1, -2) for matrix in _matrices(weights, tokens.dtype, groups)]
        return grouped_products(tokens, matrices, groups)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        tokens, *weights = ctx.saved_tensors
        gradient = gradient.contiguous()
        needs_tokens, _, *needs_weights = ctx.needs_input_grad
        token_gradient = None
        if needs_tokens:
            token_gradient = grouped_products(gradient, _matrices(weights, tokens.dtype, ctx.groups), ctx.groups)
        if not any(needs_weights):
            return (token_gradient, None, *(None for _ in weights))
        reduced = grouped_reductions(gradient, tokens, ctx.groups).to(weights[0].dtype)
        # Autograd ignores the gradients of frozen weights.
        return (token_gradient, None, *reduced.view(len(weights), *weights[0].shape).unbind(0))


def _matrices(weights: Sequence[torch.Tensor], dtype: torch.dtype, groups: Groups) -> list[torch.Tensor]:
    """Return weights in a form that the operator supports: as given, or cast and stacked into one tensor."""
    if takes_list(weights, dtype):
        return list(weights)
    return [torch.stack(list(weights)).to(dtype).view(len(groups.ends), -1, weights[0].shape[1])]


def _is_plain(expert: nn.Module, expert_class: type, dtypes: tuple[torch.dtype, ...]) -> bool:
    if type(expert) is not expert_class or not is_silu(expert.act_fn) or is_hooked(expert):
        return False
    return all(_is_plain_linear(projection, dtypes) for projection in _projections(expert))


def _is_plain_linear(module: nn.Module, dtypes: tuple[torch.dtype, ...]) -> bool:
    return (
        type(module) is nn.Linear
        and module.bias is None
        and not is_hooked(module)
        and on_npu(module.weight)
        and module.weight.dtype in dtypes
        # Gate and up together must fit too.
        and 2 * max(module.weight.shape) <= MAX_INNER
    )


def _projections(expert: Any) -> tuple[nn.Linear, ...]:
    return expert.gate_proj, expert.up_proj, expert.down_proj


def _are_alike(expert: nn.Module, other: nn.Module) -> bool:
    pairs = zip(_projections(expert), _projections(other), strict=True)
    return all(_layout(here.weight) == _layout(there.weight) for here, there in pairs)


def _layout(weight: torch.Tensor) -> tuple[torch.dtype, tuple[int, ...]]:
    return weight.dtype, weight.stride()
