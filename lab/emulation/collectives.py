"""Collectives: the backend ``hccl`` for tensors on the emulated NPU, which gloo carries in the same memory.

Each ``c10d`` operator gets a kernel for the device that hands CPU aliases of its
tensors to a group of gloo's, so results appear in the device's own memory. What
ProcessGroupHCCL refuses (read in torch_npu's source) is refused here, too. That
a group of this backend has nothing for CPU tensors, PyTorch itself says.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_map

from emulation.checks import FLOATS, require
from emulation.log import note_operator
from emulation.memory import to_cpu

BACKEND = "hccl"
_KEY = "PrivateUse1"
# Operators that compute; the others only carry, whatever the type is.
_REDUCING = ("allreduce", "reduce", "_reduce")
# Operators that are done only when another rank has called its own.
_PAIRED = ("send", "recv_", "recv_any_source_")
_REDUCED = (*FLOATS, torch.int8, torch.uint8, torch.bool, torch.int16, torch.int32, torch.int64)
# The group that carries a backend's tensors on CPU, by backend.
_carriers: dict[dist.ProcessGroupGloo, dist.ProcessGroup] = {}
# Registrations end with the object that made them.
_library = torch.library.Library("c10d", "IMPL")


def register_collectives() -> None:
    """Register the backend, and kernels for everything that can be asked of it; once for this process."""
    dist.Backend.register_backend(BACKEND, _backend, devices=["npu"])
    with warnings.catch_warnings():
        # PyTorch's own kernels for the device would hand its tensors to gloo as they are.
        warnings.filterwarnings("ignore", "(?s).*Overriding a previously registered kernel")
        for name in torch._C._dispatch_get_all_op_names():
            if name.startswith("c10d::") and torch._C._dispatch_has_kernel_for_dispatch_key(name, _KEY):
                short = name.removeprefix("c10d::")
                _library.impl(short, _carried(short), _KEY)


def _backend(store: dist.Store, rank: int, size: int, timeout: timedelta) -> dist.ProcessGroupGloo:
    gloo = dist.ProcessGroupGloo(store, rank, size, timeout)
    carrier = dist.ProcessGroup(store, rank, size)
    carrier._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    carrier._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
    _carriers[gloo] = carrier
    return gloo


def _carried(name: str) -> Callable[..., Any]:
    """Return a kernel that runs one of ``c10d``'s operators on CPU aliases; it returns the tensors it was given."""
    operator = getattr(torch.ops.c10d, name).default
    place = [argument.name for argument in operator._schema.arguments].index("process_group")

    def run(*args: Any) -> Any:
        note_operator(f"{BACKEND}.{name.strip('_')}")
        given: dict[int, torch.Tensor] = {}
        aliases: list[torch.Tensor] = []

        def lowered(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            _check(name, value)
            aliases.append(to_cpu(value))
            given[id(aliases[-1])] = value
            return aliases[-1]

        group = dist.ProcessGroup.unbox(args[place])
        carrier = _carriers[group._get_backend(torch.device("npu"))]
        with torch.no_grad():
            result = operator(*tree_map(lowered, args[:place]), carrier.boxed(), *tree_map(lowered, args[place + 1 :]))
        if name not in _PAIRED:
            # PyTorch finds what to wait for by a tensor's storage, which views have their own of here.
            dist.Work.unbox(result[-1] if isinstance(result, tuple) else result).wait()
        return tree_map(lambda value: given.get(id(value), value), result)

    return run


def _check(name: str, tensor: torch.Tensor) -> None:
    operator = f"{BACKEND} {name.strip('_')}"
    require(tensor.device.type == "npu" and not tensor.is_sparse, operator, "Tensors must be NPU and dense")
    require(tensor.is_contiguous(), operator, "Tensors must be contiguous")
    if name.startswith(_REDUCING):
        require(tensor.dtype in _REDUCED, operator, f"Unsupported data type {tensor.dtype}")
