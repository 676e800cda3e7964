"""Checks: what the real operators refuse, refused with an error that says so."""

from __future__ import annotations

import torch

FLOATS = (torch.float16, torch.bfloat16, torch.float32)
MAX_DIMS = 8
MAX_TARGETS = 200_000
MAX_PAIRS = 2**24 - 1
MAX_LIST = 128
MAX_GROUPS = 1024
MAX_INNER = 65535
COMPRESSED_MASK = 2048


def require(condition: bool, operator: str, rule: str) -> None:  # reads as an assertion
    """Refuse a call the way the real operator would: with a RuntimeError."""
    if not condition:
        raise RuntimeError(f"{operator}: {rule}")


def same_float_dtype(operator: str, *tensors: torch.Tensor) -> None:
    """Require one floating dtype for all tensors, and one of those the hardware has."""
    dtypes = {tensor.dtype for tensor in tensors}
    require(len(dtypes) == 1, operator, f"all tensors must have one dtype, not {dtypes}")
    require(dtypes <= set(FLOATS), operator, f"{dtypes} is not supported")


def is_transposed(matrix: torch.Tensor) -> bool:
    """Return whether the last two dimensions are a transposed view of contiguous memory."""
    rows, columns = matrix.shape[-2:]
    return matrix.stride(-2) == 1 and matrix.stride(-1) == rows and (rows > 1 or columns > 1) and rows * columns > 1


def inner_axis(matrix: torch.Tensor) -> int:
    """Return the size of the last dimension as it lies in memory."""
    return matrix.shape[-2] if is_transposed(matrix) else matrix.shape[-1]


def group_ends(operator: str, group_list: torch.Tensor | None, list_type: int, groups: int, total: int) -> list[int]:
    """Return where the groups end, after checking all the rules about group lists."""
    require(group_list is not None, operator, "group_list is required for one x")
    assert group_list is not None  # for the type checker
    require(group_list.device.type == "npu", operator, "group_list must be on the device")
    require(group_list.dtype == torch.int64, operator, f"group_list must be int64, not {group_list.dtype}")
    require(group_list.dim() == 1 and len(group_list) == groups, operator, f"group_list must have length {groups}")
    require(groups <= MAX_GROUPS, operator, f"at most {MAX_GROUPS} groups")
    require(list_type in (0, 1), operator, "only cumulative (0) and counted (1) group lists are emulated")
    require(list_type == 0 or groups > 1, operator, "a counted group list may not have length 1")
    values: list[int] = _values(group_list)
    if list_type == 1:
        values = [sum(values[: end + 1]) for end in range(groups)]
    require(sorted(values) == values and values[0] >= 0, operator, f"group_list must not descend: {values}")
    require(values[-1] == total, operator, f"group_list must end at {total}, not {values[-1]}")
    return values


def _values(tensor: torch.Tensor) -> list[int]:
    from emulation.memory import to_cpu  # noqa: PLC0415  # the kernel reads device memory; no host waits

    return [int(value) for value in to_cpu(tensor)]
