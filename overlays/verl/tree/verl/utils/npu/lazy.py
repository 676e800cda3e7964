"""Modules that are imported on first use."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Imports a module when one of its attributes is first read.

    Args:
        name: absolute name of the module.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


# On import, Triton decorates these kernels; without a usable driver that fails.
triton_kernels = LazyModule("verl.utils.kernel.kernels")
