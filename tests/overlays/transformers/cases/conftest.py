"""Configuration of the tests that run inside an environment with the patched transformers and torch 2.13."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[4] / "lab"), str(Path(__file__).parent)]

import emulation  # noqa: E402  # the path comes first

# Before anything imports transformers, which asks once whether there is an NPU.
emulation.install(os.environ.get("EMULATED_TORCH_NPU", "2.7.1"))
torch.set_num_threads(1)
