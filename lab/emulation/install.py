"""Install: `import torch_npu` works in this process, and tensors can be on ``npu``."""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
from typing import Any

import torch

from emulation import streams
from emulation.autocast import register_autocast
from emulation.collectives import register_collectives
from emulation.device import register_device
from emulation.operators import register_operators
from npu_schemas import recorded

# Which version is emulated; of an overlay that of its stack, which `npu_schemas.stack_versions` names.
VARIABLE = "EMULATED_TORCH_NPU"
# That of the stack that is the default.
DEFAULT_VERSION = "2.10.0.post4"


def install() -> None:
    """Give this process an emulated NPU driven by an emulated torch_npu (once, before transformers).

    EMULATED_TORCH_NPU names its version, one of those in `schemas.json`.
    """
    if "torch_npu" in sys.modules:
        return
    version = os.environ.get(VARIABLE, DEFAULT_VERSION)
    facts = recorded()[version]
    register_device(_torch_npu_module())
    register_operators(facts)
    register_autocast()
    register_collectives()
    module = types.ModuleType("torch_npu")
    module.__spec__ = importlib.machinery.ModuleSpec("torch_npu", loader=None)
    module.__dict__["__version__"] = version
    # The real module offers the dispatcher's operators under their own names.
    module.__dict__.update({name: getattr(torch.ops.npu, name) for name in facts.operators})
    module.__dict__["npu"] = torch.npu
    sys.modules["torch_npu"] = module


class _DeviceContext:
    """`torch.npu.device(…)`: there is one device, so nothing switches."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def __enter__(self) -> _DeviceContext:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave things as they are."""


def _torch_npu_module() -> types.ModuleType:
    """Return what becomes `torch.npu`: one initialised device whose random numbers are the CPU's."""
    module = types.ModuleType("torch.npu")
    module.__dict__.update(
        device=_DeviceContext,
        Stream=streams.Stream,
        Event=streams.Event,
        stream=streams.stream,
        current_stream=streams.current_stream,
        default_stream=streams.current_stream,
        is_available=lambda: True,
        is_initialized=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        set_device=lambda _device: None,
        synchronize=lambda _device=None: None,
        empty_cache=lambda: None,
        memory_allocated=lambda _device=None: 0,
        memory_reserved=lambda _device=None: 0,
        max_memory_allocated=lambda _device=None: 0,
        max_memory_reserved=lambda _device=None: 0,
        mem_get_info=lambda _device=None: (1, 1),
        manual_seed=lambda _seed: None,
        manual_seed_all=lambda _seed: None,
        is_bf16_supported=lambda: True,
        get_amp_supported_dtype=lambda: [torch.bfloat16, torch.float16],
        get_rng_state=lambda _device=None: torch.get_rng_state(),
        set_rng_state=lambda state, _device=None: torch.set_rng_state(state),
        get_device_name=lambda _device=None: "emulated NPU",
        _lazy_init=lambda: None,
        _is_in_bad_fork=lambda: False,
    )
    return module
