"""Configuration of the tests that run inside an environment with the patched transformers and torch 2.13."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import torch

_ROOT = Path(__file__).parents[4]
sys.path[:0] = [str(_ROOT / "lab"), str(_ROOT / "recipes"), str(Path(__file__).parent)]

import emulation  # noqa: E402  # the path comes first

# Must precede the first import of transformers, which looks for an NPU once.
emulation.install()
torch.set_num_threads(1)

from transformers.integrations import npu_flash_attention  # noqa: E402

# Some modules exist only in some pins or environments and are tested there; other tests check where they exist.
_MODULES = {
    "test_moe.py": "npu_moe",
    "test_grouped_mm.py": "moe",
    "test_experts.py": "moe",
    "test_packed_linear_attention.py": "packed_linear_attention",
}
collect_ignore = [
    *(file for file, module in _MODULES.items() if find_spec(f"transformers.integrations.{module}") is None),
    *(["test_former_names.py"] if not hasattr(npu_flash_attention, "index_first_axis") else []),
    *(["test_beside.py"] if find_spec("peft") is None else []),
    *(["test_norms.py"] if find_spec("transformers.models.qwen3_next") is None else []),
]
