"""Grouped matrix products as one NPU operator, and the products that their backward needs.

Rows are sorted by group, and every group is multiplied by its own matrix. The
operator has no backward in any version of torch_npu, so callers provide an
autograd function.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from .npu_kernels import has_operator, operator_arguments

# Limits of npu_grouped_matmul: length of a tensor list, number of groups, innermost dimension.
_MAX_LIST = 128
MAX_GROUPS = 1024
MAX_INNER = 65535
_SPLIT_ROWS = 0
_SPLIT_REDUCTION = 2
_ONE_OUTPUT = 2


class Groups:
    """Consecutive groups of rows.

    Args:
        ends: shape (groups,), int64, on the device: the end of each group; the last is the number of rows.
    """

    def __init__(self, ends: torch.Tensor) -> None:
        self.ends = ends

    @functools.cached_property
    def sizes(self) -> list[int]:
        """The number of rows of each group, on the host; reading it waits for the device, once per layer."""
        return torch.diff(self.ends, prepend=self.ends.new_zeros(1)).tolist()


@functools.cache
def has_grouped_products() -> bool:
    """Return whether the operator reads the groups on the device; that of 2.5.1rc1 needs them on the host."""
    return has_operator("npu_grouped_matmul") and "group_type" in operator_arguments("npu_grouped_matmul")


def takes_list(matrices: Sequence[torch.Tensor], dtype: torch.dtype) -> bool:
    """Return whether :func:`grouped_products` accepts a list of matrices for rows of `dtype`; if not, stack them.

    The operator limits the length of the list, and documents lists for half precision only.
    """
    return len(matrices) <= _MAX_LIST and matrices[0].dtype == dtype != torch.float32


def grouped_products(rows: torch.Tensor, matrices: list[torch.Tensor], groups: Groups) -> torch.Tensor:
    """Return ``rows[group] @ matrices[group]``, concatenated; a transposed matrix is read in place.

    Args:
        rows: shape (rows, in), contiguous.
        matrices: one per group, shape (in, out), of equal layout, if :func:`takes_list`; or one tensor that holds all
            of them, shape (groups, in, out).
        groups: the groups of the rows.
    """
    return torch.ops.npu.npu_grouped_matmul(
        [rows], matrices, group_list=groups.ends, split_item=_ONE_OUTPUT, group_type=_SPLIT_ROWS, group_list_type=0
    )[0]


def grouped_reductions(left: torch.Tensor, right: torch.Tensor, groups: Groups) -> torch.Tensor:
    """Return ``left[group].T @ right[group]`` for every group, shape (groups, left's columns, right's columns)."""
    if _splits_reduction(left.device):
        return _split_reduction(left.t(), right, groups.ends)
    # torch_npu 2.5.1 and 2.6.0: one product per group, and the host must know the sizes.
    products = left.new_empty(len(groups.sizes), left.shape[1], right.shape[1])
    for product, rows, others in zip(products, left.split(groups.sizes), right.split(groups.sizes), strict=True):
        torch.mm(rows.t(), others, out=product)
    return products


def _split_reduction(left: torch.Tensor, right: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
    """Return ``left[:, group] @ right[group]`` for every group, shape (groups, …); `left` is a transposed view."""
    return torch.ops.npu.npu_grouped_matmul(
        [left], [right], group_list=ends, split_item=_ONE_OUTPUT, group_type=_SPLIT_REDUCTION, group_list_type=0
    )[0]


@functools.cache
def _splits_reduction(device: torch.device) -> bool:
    """Return whether the operator can split the reduced dimension (torch_npu 2.6.0.post3 and newer).

    2.5.1 would return a tensor of the wrong shape; its default of
    `group_type` identifies it. 2.6.0 has the schema of newer versions but
    refuses, so one tiny product is tried.
    """
    if operator_arguments("npu_grouped_matmul").get("group_type") is not None:
        return False
    rows = torch.zeros(16, 16, dtype=torch.float16, device=device)
    ends = torch.tensor([8, 16], dtype=torch.int64, device=device)
    try:
        return _split_reduction(rows.t(), rows, ends).shape == (2, 16, 16)
    except RuntimeError:
        return False
