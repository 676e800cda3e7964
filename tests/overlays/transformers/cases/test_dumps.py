"""npu-recipes' records of a model on the emulated NPU show what runs there without recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import emulation
import tiny_models
from npu_recipes.dumps.dump_file import opened
from npu_recipes.dumps.hooks import dump_forward
from npu_recipes.dumps.match import Matching, match

CASE = tiny_models.Case("qwen3_moe")
# Only the experts' gate and up together have this width.
GATED = 2 * 24


def _forward(device: str, file: Path | None = None) -> emulation.Recording:
    model, inputs = tiny_models.ready(CASE, device)
    with torch.no_grad(), emulation.recorded() as recording:
        if file is None:
            model(**inputs)
        else:
            with dump_forward(model, file):
                model(**inputs)
    return recording


def _matched(folder: Path) -> Matching:
    for device in ("cpu", "npu"):
        _forward(device, folder / f"{device}.npz")
    with opened(folder / "cpu.npz") as reference, opened(folder / "npu.npz") as run:
        return match(reference, run, 1.0)


def test_a_dump_records_the_fused_operators(tmp_path: Path) -> None:
    plain, dumped = _forward("npu"), _forward("npu", tmp_path / "npu.npz")
    for name in ("npu_grouped_matmul", "npu_swiglu", "npu_rms_norm", "npu_rotary_mul"):
        assert dumped.fused(name) == plain.fused(name) > 0, name


def test_a_fault_in_the_experts_is_located_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(one.agrees for one in _matched(tmp_path).matched)
    swiglu = torch.ops.npu.npu_swiglu

    def faulty(states: torch.Tensor, *options: Any) -> torch.Tensor:
        return swiglu(states, *options) * (1.5 if states.shape[-1] == GATED else 1.0)

    # The operator's own autograd asks for what is below it.
    faulty.__dict__["default"] = swiglu.default
    monkeypatch.setattr(torch.ops.npu, "npu_swiglu", faulty)
    matching = _matched(tmp_path)
    first = next(one for one in matching.matched if not one.agrees)
    assert first is not None
    assert first.fed_alike
    assert first.passage.module.startswith("model.layers.1.mlp")
    # Modules inside a fused operator run on one side only and are reported as such.
    assert "model.layers.1.mlp.experts" in " ".join(matching.only_reference)
    assert matching.only_run == ()
