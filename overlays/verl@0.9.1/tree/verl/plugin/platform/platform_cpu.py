"""The platform of a machine without an accelerator: training runs on the CPU, its ranks meet by gloo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

from .platform_base import PlatformBase


class _CPUDevices(ModuleType):
    """`torch.cpu` with what verl asks every device's module for; there is no memory of a device to tell of."""

    def __init__(self) -> None:
        super().__init__("torch.cpu")

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    @staticmethod
    def empty_cache() -> None:
        """Release nothing: nothing is cached."""

    @staticmethod
    def memory_allocated(_device: Any = None) -> int:
        return 0

    memory_reserved = max_memory_allocated = max_memory_reserved = memory_allocated

    @staticmethod
    def mem_get_info(_device: Any = None) -> tuple[int, int]:
        return 0, 0

    @staticmethod
    def get_rng_state(_device: Any = None) -> torch.Tensor:
        return torch.get_rng_state()

    @staticmethod
    def set_rng_state(state: torch.Tensor, _device: Any = None) -> None:
        torch.set_rng_state(state)

    @staticmethod
    def get_device_name(_device: Any = None) -> str:
        return "CPU"


_DEVICES = _CPUDevices()


class PlatformCPU(PlatformBase):
    """The CPU as the only device, of which every process uses all.

    On a Ray cluster processes are counted by the resource of GPUs, as where they have one: say how many there may be
    by ``ray_kwargs.ray_init.num_gpus``.
    """

    @property
    def device_name(self) -> str:
        return "cpu"

    @property
    def vendor_name(self) -> str:
        return "cpu"

    @property
    def device_module(self) -> ModuleType:
        return _DEVICES

    def is_available(self) -> bool:
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:  # noqa: ARG002, FBT001  # upstream's signature
        # Every machine has one; it is chosen where there is nothing else, or by its name.
        return False

    def current_device(self) -> Any:
        return torch.cpu.current_device()

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        """Choose nothing: there is one."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Wait for nothing: what was called is done."""

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """Set nothing: memory is the system's."""

    def empty_cache(self) -> None:
        """Release nothing: nothing is cached."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:  # noqa: ARG002  # upstream's
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:  # noqa: ARG002  # upstream's signature
        yield

    def profiler_start(self) -> None:
        """Start nothing."""

    def profiler_stop(self) -> None:
        """Stop nothing."""

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> Any:
        return None
