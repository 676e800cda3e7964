"""SiLU as a class of transformers 4.57 and newer: the fused operators run for it too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RUN = """
import sys
sys.path[:0] = sys.argv[1:]
import emulation
emulation.install()
import torch
from torch import nn
from transformers import activations

class SiLUActivation(nn.Module):
    def forward(self, input):
        return nn.functional.silu(input)

activations.ACT2CLS["silu"] = activations.ACT2FN["silu"] = SiLUActivation
import tiny_models
from transformers.integrations.npu_kernels import is_silu

class Heir(SiLUActivation): ...
assert is_silu(nn.SiLU()) and not is_silu(Heir()) and not is_silu(nn.functional.silu)
for family in ("qwen3", "qwen3_moe"):
    case = tiny_models.Case(family)
    with emulation.recorded() as recording:
        on_npu = tiny_models.run(case, "npu")
    on_cpu = tiny_models.run(case, "cpu")
    assert all(torch.allclose(on_npu[name], tensor, rtol=1e-4, atol=1e-5) for name, tensor in on_cpu.items())
    model, _ = tiny_models.ready(case, "cpu")
    assert any(type(one) is SiLUActivation for one in model.modules())
    print(family, recording.fused("npu_swiglu"), recording.fused("npu_grouped_matmul") > 0)
"""


@pytest.fixture(scope="module")
def lines() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(HERE.parents[3] / "lab"), str(HERE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


# It starts a process of its own, which imports torch and transformers once more.
@pytest.mark.thorough
def test_transformers_own_silu_class_is_recognized(lines: list[str]) -> None:
    # Two layers; experts go through one product each, which shares their activation.
    assert lines == ["qwen3 2 False", "qwen3_moe 2 True"]
