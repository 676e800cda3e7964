"""Bench: what the transformers in reach costs, forward and backward; `bench/models.py` compares it with upstream's.

``bench.py operators`` writes as JSON what each model launches on the emulated NPU and how often the host waits for it.
``bench.py seconds FAMILY`` answers every line it reads with the CPU time of a few steps, which
other processes on the machine do not change.
"""

from __future__ import annotations

import json
import sys
import time

import torch

import emulation
import families
import tiny_models

LAYERS = 2
STEPS = 3
_SEQUENCES, _LENGTH = 24, 12


def per_layer(family: str) -> dict[str, float]:
    """Return what one layer launches, forward and backward: the whole model's divided by its layers.

    The waits are those of the whole model, since not every layer needs to have some.
    """
    case = tiny_models.Case(family, batch=2, seed=1)
    model, inputs = tiny_models.ready(case, "npu")
    with emulation.recorded() as recording:
        tiny_models.step(model, inputs)
    fused = sum(count for name, count in recording.operators.items() if name.startswith("npu."))
    return {
        "operators": recording.launches() / LAYERS,
        "fused": fused / LAYERS,
        "waits": sum(recording.waits.values()),
    }


def seconds(family: str) -> None:
    """Answer every line read with what some steps took."""
    model = families.build(family, families.needs(family))
    inputs = {"input_ids": torch.randint(2, families.HIGHEST_TOKEN, (_SEQUENCES, _LENGTH))}
    for _ in sys.stdin:
        start = time.process_time()
        for _ in range(STEPS):
            tiny_models.step(model, inputs)
        sys.stdout.write(f"{time.process_time() - start}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1] == "seconds":
        seconds(sys.argv[2])
    else:
        emulation.install()
        sys.stdout.write(
            json.dumps({family: per_layer(family) for family in (*tiny_models.TEXT, *tiny_models.VISION)}) + "\n"
        )
