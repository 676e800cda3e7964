"""Configuration of the cases: an emulated NPU where asked for, and a vLLM that only remembers its arguments."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "npu")]

if os.environ.get("EMULATED_NPU") == "1":
    import emulation
    import stub_vllm

    # Before anything imports transformers or verl, which ask once whether there is an NPU.
    emulation.install()
    stub_vllm.install_profiler()

torch.set_num_threads(1)
