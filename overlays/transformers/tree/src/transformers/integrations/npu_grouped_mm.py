"""Experts whose weights are one tensor, on Ascend NPUs: one grouped product for all, with its backward.

Mixtures of experts in transformers 5 sort their tokens by expert and multiply
each expert's rows by its slice of a weight of shape (experts, in, out). Nothing
here is copied to the host.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from .npu_grouped import (
    MAX_GROUPS,
    MAX_INNER,
    Groups,
    grouped_products,
    grouped_reductions,
    has_grouped_products,
)
from .npu_kernels import FUSED_DTYPES, on_npu


def can_use_grouped_mm(rows: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> bool:
    """Return whether :func:`npu_grouped_mm` multiplies these as transformers does.

    False under torch.compile, which cannot see that a grouped matrix product
    has no backward; for quantized and sharded weights; and for shapes that do
    not match, for which transformers has the better error.
    """
    return (
        on_npu(rows)
        and on_npu(weight)
        and on_npu(ends)
        and not torch.compiler.is_compiling()
        and rows.is_floating_point()
        and weight.dtype in FUSED_DTYPES
        and ends.dtype in (torch.int32, torch.int64)
        and rows.numel() > 0
        and weight.numel() > 0
        and rows.shape[1:] == weight.shape[1:2]
        and ends.shape == weight.shape[:1]
        and weight.dim() == 3  # noqa: PLR2004  # experts, in, out
        and len(weight) <= MAX_GROUPS
        and max(weight.shape) <= MAX_INNER
        and has_grouped_products()
    )


def npu_grouped_mm(rows: torch.Tensor, weight: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Return ``rows[group] @ weight[group]`` for consecutive groups of rows, differentiable.

    Args:
        rows: shape (rows, in), sorted by group; cast to the weight's dtype.
        weight: shape (groups, in, out), contiguous or a transposed view; anything else is copied.
        ends: shape (groups,), int32 or int64: the end of each group.

    Returns:
        Shape (rows, out), dtype of the weight. Under expert parallelism, rows
        of other ranks' experts follow the last end. The operator requires that
        the last group ends with the rows, so it includes them: callers
        overwrite their results, and their gradients are zero.
    """
    ends = ends.to(torch.int64, copy=True)
    ends[-1] = rows.shape[0]
    return multiply_groups(rows, weight, Groups(ends))


def multiply_groups(rows: torch.Tensor, weight: torch.Tensor, groups: Groups) -> torch.Tensor:
    """Return :func:`npu_grouped_mm` of groups that cover all rows."""
    if not (weight.is_contiguous() or weight.transpose(-1, -2).is_contiguous()):
        weight = weight.contiguous()
    return _GroupedMM.apply(rows.to(weight.dtype).contiguous(), weight, groups)


class _GroupedMM(torch.autograd.Function):
    """`npu_grouped_matmul` with a backward, which no version of torch_npu has."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, weight: torch.Tensor, groups: Groups) -> torch.Tensor:
        ctx.save_for_backward(rows, weight)
        ctx.groups = groups
        return grouped_products(rows, [weight], groups)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None, None]:
        rows, weight = ctx.saved_tensors
        needs_rows, needs_weight, _ = ctx.needs_input_grad
        gradient = gradient.contiguous()
        transposed = [weight.transpose(-1, -2)]
        row_gradient = grouped_products(gradient, transposed, ctx.groups) if needs_rows else None
        return row_gradient, _weight_gradient(ctx, rows, weight, gradient) if needs_weight else None, None


def _weight_gradient(ctx: Any, rows: torch.Tensor, weight: torch.Tensor, gradient: torch.Tensor) -> torch.Tensor:
    """Return the weight's gradient, in the weight's own memory layout."""
    if weight.is_contiguous():
        return grouped_reductions(rows, gradient, ctx.groups)
    return grouped_reductions(gradient, rows, ctx.groups).transpose(-1, -2)
