"""Two ranks that share a model's parameters (FSDP2), of which one has an image and the other has none.

It starts them; they fail if they wait for each other, or if their gradients are not what one process computes.
"""

from __future__ import annotations

import os
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import multiprocessing, nn

import vision_language

KINDS = ("mixed", "text")


def _sharded(model: nn.Module) -> nn.Module:
    from torch.distributed.fsdp import fully_shard  # noqa: PLC0415  # in the ranks only

    for module in model.modules():
        # Blocks of the tower and layers of the language model, as training frameworks wrap them.
        if isinstance(module, nn.ModuleList):
            for block in module:
                fully_shard(block)
    fully_shard(model)
    return model


def _train(model: nn.Module, kind: str) -> dict[str, torch.Tensor]:
    inputs = vision_language.padded(kind)
    inputs["position_ids"] = inputs["position_ids"][1:]
    return {name: one for name, one in vision_language.trained(model, inputs).items() if one is not None}


def _check(rank: int, family: str) -> None:
    from transformers.integrations.vision_towers import always_run_vision_towers  # noqa: PLC0415

    always_run_vision_towers()
    alone = [_train(vision_language.model_of(family), kind) for kind in KINDS]
    together = _train(_sharded(vision_language.model_of(family)), KINDS[rank])
    torch.testing.assert_close(together["logits"], alone[rank]["logits"])
    for name in (name for name in together if name.startswith("grad ")):
        expected = torch.stack([one[name] for one in alone]).mean(0)
        torch.testing.assert_close(together[name].full_tensor(), expected, atol=1e-6, rtol=1e-4)


def _run_rank(rank: int, rendezvous: str) -> None:
    torch.set_num_threads(1)
    # Ranks that wait for each other fail soon, not after half an hour.
    patience = timedelta(seconds=60)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2, timeout=patience)
    # The language model gets less from the other models' towers.
    _check(rank, "qwen3_vl" if "qwen3_vl" in vision_language.families() else "qwen2_5_vl")
    dist.barrier()
    dist.destroy_process_group()
    # All checks are done; on an ordinary exit, gloo's threads sometimes abort the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_run_rank, args=(str(Path(folder) / "rendezvous"),), nprocs=2)
