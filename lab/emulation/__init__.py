"""An Ascend NPU in pure Python: a real ``device="npu"`` over CPU memory, and a `torch_npu` that refuses."""

from __future__ import annotations

from emulation.install import install
from emulation.log import Recording, recorded

__all__ = ["Recording", "install", "recorded"]
