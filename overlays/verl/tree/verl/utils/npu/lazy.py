"""Modules that are imported when they are first used."""

from __future__ import annotations

import importlib
from typing import Any


class LazyModule:
    """Stands for a module until one of its names is asked for.

    Args:
        name: absolute name of the module.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


# Triton decorates these when they are imported, and fails without a usable driver.
triton_kernels = LazyModule("verl.utils.kernel.kernels")
