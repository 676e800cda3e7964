"""The platform of a machine without an accelerator: training runs on the CPU, and ranks communicate by gloo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch

from .platform_base import PlatformBase


class _CPUDevices(ModuleType):
    """`torch.cpu` with the functions that verl expects of a device module; it reports no device memory."""

    def __init__(self) -> None:
        super().__init__("torch.cpu")

    def __getattr__(self, name: str) -> Any:
        return getattr(torch.cpu, name)

    @staticmethod
    def empty_cache() -> None:
        """Do nothing: nothing is cached."""

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
    """The CPU as the only device, shared by all processes.

    On a Ray cluster, each process takes one unit of the GPU resource. Set their number with
    ``ray_kwargs.ray_init.num_gpus``.
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
        # Every machine has a CPU; it is chosen by name, or if there is nothing else.
        return False

    def current_device(self) -> Any:
        return torch.cpu.current_device()

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        """Do nothing: there is only one device."""

    def synchronize(self, device_index: int | None = None) -> None:
        """Do nothing: calls on the CPU are synchronous."""

    def manual_seed(self, seed: int) -> None:
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """Do nothing: the system allocates memory."""

    def empty_cache(self) -> None:
        """Do nothing: nothing is cached."""

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
        """Do nothing: there is no device profiler."""

    def profiler_stop(self) -> None:
        """Do nothing: there is no device profiler."""

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> Any:
        return None
