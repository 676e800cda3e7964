"""Late device transfer: keep a batch on the CPU and move only what the next step needs to the NPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from verl.utils.device import get_device_id, is_npu_available


def moved_early(data: Any, device: Any) -> Any:
    """Return a whole batch moved at once, as upstream does; on an NPU it stays where it is."""
    return data if is_npu_available else data.to(device)


def moved_late(data: Any, device: Any) -> Any:
    """Return one micro-batch on the device; off the NPU it is there already."""
    return data.to(device) if is_npu_available else data


def broadcast_late(broadcast: Callable[..., Any], data: Any, *, src: int, group: Any) -> None:
    """Broadcast a batch over the pipeline stages; on an NPU it is on the device only for that long.

    Args:
        broadcast: verl's broadcast of a dict of tensors.
        data: the batch, with its tensors under ``batch``.
        src: global rank that sends.
        group: the stages of one pipeline.
    """
    if not is_npu_available:
        broadcast(data.batch, src=src, group=group)
    elif torch.distributed.get_world_size(group) > 1:
        data.to(get_device_id())
        broadcast(data.batch, src=src, group=group)
        data.to("cpu")


def synchronize_after_move(device: Any) -> None:
    """Wait for the NPU after tensors were moved to the CPU: their copies may not have arrived yet.

    tensordict up to 0.9 waits for CUDA and MPS only. A process that never
    used an NPU (the driver) is left alone: waiting would claim a device.
    """
    npu = getattr(torch, "npu", None)
    if npu is not None and torch.device(device).type == "cpu" and npu.is_initialized():
        npu.synchronize()
