"""Fine-tuning on the emulated NPU, in one process without sharding: its loss follows upstream's code on CPU."""

from __future__ import annotations

from typing import Any

import actor
import emulation
import pytest
import torch

STEPS = 25
# Operators of the fast path, which the run must have taken.
FUSED = {
    "qwen2": ("npu_rms_norm", "npu_swiglu", "npu_rotary_mul"),
    "qwen3_moe": ("npu_rms_norm", "npu_swiglu", "npu_rotary_mul", "npu_grouped_matmul"),
}


def curve(family: str, device: str) -> list[float]:
    """Return the losses of a model that learns one batch by heart."""
    model: Any = actor.model_of(family).float().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, foreach=False)
    data = actor.batch()
    mask = data.batch["attention_mask"]
    labels = data.batch["input_ids"].masked_fill(mask == 0, -100)
    inputs = {"input_ids": data.batch["input_ids"], "attention_mask": mask, "labels": labels}
    inputs = {name: tensor.to(device) for name, tensor in inputs.items()}
    losses = []
    for _ in range(STEPS):
        loss = model(**inputs, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("family", actor.FAMILIES)
def test_the_curve_on_the_npu_is_that_on_cpu(family: str) -> None:
    # On CPU the patched code is upstream's, bit for bit: `test_actor.py` shows that.
    expected = curve(family, "cpu")
    with emulation.recorded() as recording:
        losses = curve(family, "npu")

    assert all(recording.fused(name) >= STEPS for name in FUSED[family]), recording.operators
    assert losses[-1] < 0.7 * losses[0]
    assert max(abs(here - there) / there for here, there in zip(losses, expected, strict=True)) <= 0.02
