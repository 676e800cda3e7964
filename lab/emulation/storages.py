"""Storages: what PyTorch asks of them on the device, over memory that is borrowed from the CPU and keeps its size."""

from __future__ import annotations

import ctypes

import torch

from emulation.memory import to_npu

_POISON = 0xFF


def set_storage(tensor: torch.Tensor, storage: torch.UntypedStorage) -> torch.Tensor:
    """Make `tensor` hold all of a storage's memory, as ``Tensor.set_(storage)`` does; saving asks for it."""
    memory = (ctypes.c_char * storage.nbytes()).from_address(storage.data_ptr())
    # Whoever borrows the memory keeps its owner.
    memory.owner = storage  # type: ignore[attr-defined]
    with torch.no_grad():
        tensor.data = to_npu(torch.frombuffer(memory, dtype=tensor.dtype) if len(memory) else torch.empty(0))
    return tensor


def patch_resize() -> None:
    """Teach storages on the device to be freed and allocated again, as sharding (FSDP2) does by resizing them.

    They keep their size, but not what was in them: whoever reads on after the
    memory was freed computes with NaN.
    """
    original = torch.UntypedStorage.resize_

    def resize_(self: torch.UntypedStorage, size: int) -> None:
        if self.device.type != "npu":
            original(self, size)
        elif size == 0:
            ctypes.memset(self.data_ptr(), _POISON, self.nbytes())
        elif size != self.nbytes():
            raise RuntimeError(f"emulated storages cannot be resized from {self.nbytes()} to {size} bytes")

    torch.UntypedStorage.resize_ = resize_
