"""Autocast: under ``torch.autocast("npu")``, which operators compute in the lower type and which in fp32.

torch_npu registers these rules in C++ when it is imported; without them torch
only warns and computes everything in the type it comes in. Its own ``npu_*``
operators have no rule: they get what they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_map

LOWER = ("linear", "matmul", "mm", "bmm", "addmm", "baddbmm", "scaled_dot_product_attention", "conv1d", "conv3d")
FP32 = (
    *("softmax.int", "log_softmax.int", "layer_norm", "nll_loss", "cross_entropy_loss"),
    *("pow.Tensor_Scalar", "rsqrt", "exp", "log"),
)
_KEY = "AutocastPrivateUse1"
# Registrations end with the object that made them.
_library = torch.library.Library("aten", "IMPL")


def register_autocast() -> None:
    """Register the rules, once for this process."""
    for name in LOWER:
        _library.impl(name, _cast(name, lambda: torch.get_autocast_dtype("npu")), _KEY)
    for name in FP32:
        _library.impl(name, _cast(name, lambda: torch.float32), _KEY)


def _cast(name: str, wanted: Callable[[], torch.dtype]) -> Callable[..., Any]:
    """Return a kernel that casts the device's floating tensors and runs the operator below autocast."""
    base, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, base), overload or "default")

    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = wanted()

        def cast(value: Any) -> Any:
            is_ours = isinstance(value, torch.Tensor) and value.device.type == "npu" and value.is_floating_point()
            return value.to(dtype) if is_ours and value.dtype != torch.float64 else value

        below = torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1))
        with below:
            return operator(*tree_map(cast, args), **tree_map(cast, kwargs))

    return run
