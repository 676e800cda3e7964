"""Device: after `register_device`, ``device="npu"`` exists in PyTorch and computes on the CPU, in the same memory."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

from emulation.log import note_operator, note_wait
from emulation.memory import to_cpu, to_npu
from emulation.storages import patch_resize, set_storage

_CPU = torch.device("cpu")
# Operators that may take tensors of both devices, on real devices too.
_MIXED = ("aten.index.", "aten.index_put", "aten._index_put", "aten._to_copy", "aten.copy_", "aten.set_")
_WIDEST = {bool: torch.bool, int: torch.int64, float: torch.float64}
# Registered kernels live as long as their library objects.
_libraries: list[torch.library.Library] = []


def register_device(module: types.ModuleType) -> None:
    """Make ``npu`` a device of this process; there is no way back, so tests of it need a process of their own.

    Args:
        module: becomes `torch.npu`.
    """
    _setup_privateuseone_for_python_backend("npu", backend_module=module)
    everything = torch.library.Library("_", "IMPL")  # kept alive below
    everything.fallback(_run_on_cpu, "PrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    aten = torch.library.Library("aten", "IMPL")  # kept alive below
    for name, kernel in _KERNELS.items():
        aten.impl(name, kernel, "PrivateUse1")
    # The host's memory is no slower for the device than any other.
    aten.impl("_pin_memory", lambda tensor, _device=None: tensor.clone(), "CPU")
    _libraries.extend((everything, aten))
    _patch_deepcopy()
    patch_resize()


def _run_on_cpu(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Run any operator on CPU aliases of its NPU arguments; results that are arguments are returned as themselves."""
    name = str(operator)
    note_operator(name)
    _check_devices(name, (args, kwargs))
    aliases: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def unwrapped(value: Any, *, resizable: bool = "resize_" in name) -> Any:
        if isinstance(value, torch.Tensor) and value.device.type == "npu":
            # Memory that DLPack owns cannot be resized, so a copy is, and goes back afterwards.
            alias = to_cpu(value).clone() if resizable else to_cpu(value)
            aliases[id(alias)] = (alias, value)
            return alias
        return _CPU if isinstance(value, torch.device) and value.type == "npu" else value

    def output(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        alias = torch.empty(0, dtype=value.dtype)
        aliases[id(alias)] = (alias, value)
        return alias

    def wrapped(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in aliases:
            return to_npu(value) if value.device.type == "cpu" else value
        _write_back(value, aliases[id(value)][1])
        return aliases[id(value)][1]

    outputs = {argument.name for argument in operator._schema.arguments if argument.is_out}
    named = {key: tree_map(output if key in outputs else unwrapped, value) for key, value in kwargs.items()}
    with torch.no_grad():
        result = operator(*tree_map(unwrapped, _with_tensors(operator, args)), **named)
    return tree_map(wrapped, result)


def _write_back(computed: torch.Tensor, original: torch.Tensor) -> None:
    """Make `original` hold what was computed for it, unless it was computed in its own memory."""
    if original.shape != computed.shape:
        with torch.no_grad():
            original.data = to_npu(computed)
    elif computed.numel() and original.data_ptr() != computed.data_ptr():
        to_cpu(original).copy_(computed)


def _with_tensors(operator: Any, args: tuple[Any, ...]) -> list[Any]:
    """Return `args` with plain numbers back in tensors; PyTorch unpacks them on the way into Python."""
    arguments = operator._schema.arguments
    return [
        torch.tensor(value, dtype=_WIDEST[type(value)])
        if type(value) in _WIDEST and str(arguments[place].type) == "Tensor"
        else value
        for place, value in enumerate(args)
    ]


def _check_devices(name: str, arguments: Any) -> None:
    tensors = [leaf for leaf in tree_leaves(arguments) if isinstance(leaf, torch.Tensor)]
    devices = {tensor.device.type for tensor in tensors if tensor.dim() > 0 or tensor.device.type == "npu"}
    if len(devices) > 1 and not name.startswith(_MIXED):
        raise RuntimeError(f"Expected all tensors to be on the same device, but found {sorted(devices)} in {name}")


def _copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:  # noqa: ARG001, FBT002
    note_operator("aten._copy_from")
    if target.device.type != "npu":
        note_wait("copy to the host")
    _cpu_alias(target).copy_(_cpu_alias(source))
    return target


def _to_copy(tensor: torch.Tensor, **options: Any) -> torch.Tensor:
    note_operator("aten._to_copy")
    device = torch.device(options.get("device") or tensor.device)
    if tensor.device.type == "npu" and device.type != "npu":
        note_wait("copy to the host")
    # Whatever the real device, a copy is a copy: aliasing the source would let one be changed through the other.
    copy = _cpu_alias(tensor).to(
        dtype=options.get("dtype") or tensor.dtype,
        copy=True,
        memory_format=options.get("memory_format") or torch.preserve_format,
    )
    return to_npu(copy) if device.type == "npu" else copy


def _empty(size: Any, *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return to_npu(torch.empty(size, dtype=dtype, device=_CPU))


def _empty_strided(size: Any, stride: Any, *, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return to_npu(torch.empty_strided(size, stride, dtype=dtype, device=_CPU))


def _as_strided(tensor: torch.Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> torch.Tensor:
    """Return a view of the same storage: autograd finds what was written through a view by its place in that."""
    note_operator("aten.as_strided.default")
    place = tensor.storage_offset() if storage_offset is None else storage_offset
    result: torch.Tensor = torch.ops.aten.alias.default(tensor).as_strided_(size, stride, place)
    return result


def _view(tensor: torch.Tensor, size: Any) -> torch.Tensor:
    note_operator("aten.view.default")
    shape = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta").view(size)
    result: torch.Tensor = torch.ops.aten.alias.default(tensor).as_strided_(
        shape.shape, shape.stride(), tensor.storage_offset()
    )
    return result


def _local_scalar_dense(tensor: torch.Tensor) -> Any:
    note_operator("aten._local_scalar_dense")
    return torch.ops.aten._local_scalar_dense.default(_cpu_alias(tensor))


def _convolution(*args: Any) -> torch.Tensor:
    note_operator("aten.convolution")
    result: torch.Tensor = torch.ops.aten.convolution.default(*_cpu_aliases(args))
    return to_npu(result)


def _convolution_backward(gradient: torch.Tensor, *args: Any) -> tuple[torch.Tensor | None, ...]:
    note_operator("aten.convolution_backward")
    states, (*options, mask) = args[:2], args[2:]
    # PyTorch asks whether there is a bias by the bias' sizes, and only for the mask's third place.
    sizes = [states[1].shape[0]] if mask[2] else None
    found = torch.ops.aten.convolution_backward.default(*_cpu_aliases((gradient, *states)), sizes, *options, mask)
    return tuple(None if result is None else to_npu(result) for result in found)


def _histc(tensor: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:  # noqa: A002
    note_operator("aten.histc")
    # Of integers only accelerators count a histogram.
    result: torch.Tensor = torch.ops.aten.histc.default(_cpu_alias(tensor).float(), bins, min, max)
    return to_npu(result.to(tensor.dtype))


def _cpu_aliases(values: tuple[Any, ...]) -> list[Any]:
    return [_cpu_alias(value) if isinstance(value, torch.Tensor) else value for value in values]


def _cpu_alias(tensor: torch.Tensor) -> torch.Tensor:
    return to_cpu(tensor) if tensor.device.type == "npu" else tensor.detach()


# Operators PyTorch itself implements for every backend in terms of these, so that the fallback never sees them.
_KERNELS: dict[str, Callable[..., Any]] = {
    "_copy_from": _copy_from,
    "_to_copy": _to_copy,
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "as_strided": _as_strided,
    "view": _view,
    "_local_scalar_dense": _local_scalar_dense,
    "set_.source_Storage": set_storage,
    "histc": _histc,
    "convolution_overrideable": _convolution,
    "convolution_backward_overrideable": _convolution_backward,
    # As torch_npu has it: ``parameter.data = tensor`` moves a parameter between the host and the device.
    "_has_compatible_shallow_copy_type": lambda _tensor, _other: True,
}


def _patch_deepcopy() -> None:
    """Teach `copy.deepcopy` tensors whose storage is not PyTorch's own to copy."""
    original = torch.Tensor.__deepcopy__

    def deepcopy(self: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
        if self.device.type != "npu" or type(self) not in (torch.Tensor, torch.nn.Parameter):
            return original(self, memo)
        if id(self) not in memo:
            with torch.no_grad():
                copy = self.detach().clone()
            is_parameter = isinstance(self, torch.nn.Parameter)
            copy = (
                torch.nn.Parameter(copy, self.requires_grad)
                if is_parameter
                else copy.requires_grad_(self.requires_grad)
            )
            memo[id(self)] = copy
        return memo[id(self)]

    torch.Tensor.__deepcopy__ = deepcopy
