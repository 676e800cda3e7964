"""Late transfer to the NPU: a batch stays on the CPU, and only the part that the next step needs is moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from verl.utils.device import get_device_id, is_npu_available


def moved_early(data: Any, device: Any) -> Any:
    """Return a whole batch on the device, as upstream does; with an NPU, the batch stays where it is."""
    return data if is_npu_available else data.to(device)


def moved_late(data: Any, device: Any) -> Any:
    """Return one micro-batch on the device; without an NPU it is already there."""
    return data.to(device) if is_npu_available else data


def broadcast_late(broadcast: Callable[..., Any], data: Any, *, src: int, group: Any) -> None:
    """Broadcast a batch to the pipeline stages; with an NPU, the batch is on the device only meanwhile.

    Args:
        broadcast: verl's broadcast of a dict of tensors.
        data: the batch, with its tensors under ``batch``.
        src: the global rank of the sender.
        group: the process group of one pipeline's stages.
    """
    if not is_npu_available:
        broadcast(data.batch, src=src, group=group)
    elif torch.distributed.get_world_size(group) > 1:
        data.to(get_device_id())
        broadcast(data.batch, src=src, group=group)
        data.to("cpu")


def synchronize_after_move(device: Any) -> None:
    """Wait for the NPU after tensors were moved to the CPU, because the copies may not have arrived yet.

    tensordict up to 0.9 waits for CUDA and MPS only. A process that never used
    an NPU, such as the driver, does not wait, because that would claim a device.
    """
    npu = getattr(torch, "npu", None)
    if npu is not None and torch.device(device).type == "cpu" and npu.is_initialized():
        npu.synchronize()
