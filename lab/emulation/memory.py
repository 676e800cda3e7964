"""Memory: CPU tensors in, tensors on the emulated NPU out, and back; the same bytes, nothing is copied.

PyTorch has no public way to say that memory belongs to the private-use
device. A DLPack capsule does: it carries the device as a number, and the
number for "some extension's device" becomes the private-use device.
"""

from __future__ import annotations

import ctypes
from typing import Any

import torch

_CPU = 1
_EXTENSION_DEVICE = 12


class _Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


def to_npu(tensor: torch.Tensor) -> torch.Tensor:
    """Return the memory of a CPU tensor as a tensor on the emulated NPU; autograd history is left behind."""
    return _relabelled(tensor, _EXTENSION_DEVICE)


def to_cpu(tensor: torch.Tensor) -> torch.Tensor:
    """Return the memory of a tensor on the emulated NPU as a CPU tensor."""
    if tensor.numel() == 0:
        # There is no memory, and without an address PyTorch refuses the capsule.
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype)
    return _relabelled(tensor, _CPU)


def _relabelled(tensor: torch.Tensor, device_type: int) -> torch.Tensor:
    capsule: Any = torch._C._to_dlpack(tensor.detach())
    address = _pointer(capsule, b"dltensor")
    description = _Tensor.from_address(address)
    description.device.device_type = device_type
    description.device.device_id = 0
    return torch._C._from_dlpack(capsule)
