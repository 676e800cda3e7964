"""Bench: device operators and host waits of each model, forward and backward, and the time on CPU, as JSON.

Run it once with the patched transformers and once with upstream's, and compare. Per layer means: of the whole tiny
model, embeddings and loss included, divided by its two layers.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import emulation
import models
import torch

SECONDS = 1.0


def per_layer(family: str) -> dict[str, float]:
    """Return what one layer launches on the device, forward and backward, and how often the host waits for it."""
    with emulation.recorded() as recording:
        models.run(models.Case(family, batch=2, seed=1), "npu")
    # Copies to and from the device are the harness's own.
    waits = {name: count for name, count in recording.waits.items() if name != "copy to the host"}
    layers = 2
    return {"operators": recording.launches() / layers, "waits": sum(waits.values()) / layers}


def seconds_on_cpu() -> float:
    """Return the median time of a training step of a small Qwen2 on CPU."""
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    sizes: dict[str, Any] = {"hidden_size": 128, "intermediate_size": 256, "num_attention_heads": 4}
    model = Qwen2ForCausalLM(Qwen2Config(**sizes, num_key_value_heads=2, num_hidden_layers=4, vocab_size=128))
    ids = torch.randint(128, (2, 64))
    times = []
    until = time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        start = time.perf_counter()
        model(input_ids=ids, labels=ids).loss.backward()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    emulation.install()
    torch.set_num_threads(1)
    found: dict[str, Any] = {family: per_layer(family) for family in (*models.TEXT, *models.VISION)}
    sys.stdout.write(json.dumps({**found, "seconds": seconds_on_cpu()}) + "\n")
