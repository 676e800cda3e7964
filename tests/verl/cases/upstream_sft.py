"""Upstream's own fine-tuning on CPU: what stops it there is moved out of the way, in this process only.

Upstream names no backend for the CPU, asks for FlashAttention whatever the
device, and reports one rank's loss; the model, the data and the training are
its own.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from transformers import AutoModelForCausalLM
from verl.utils import device

device.get_nccl_backend = lambda: "gloo"
load = AutoModelForCausalLM.from_pretrained


def from_pretrained(*args: Any, **kwargs: Any) -> Any:
    return load(*args, **{**kwargs, "attn_implementation": "sdpa"})


AutoModelForCausalLM.from_pretrained = from_pretrained


if __name__ == "__main__":
    import verl.trainer.fsdp_sft_trainer as trainer  # the backend comes first

    step = trainer.FSDPSFTTrainer.training_step

    def training_step(self: Any, batch: Any) -> dict[str, Any]:
        result = step(self, batch)
        loss = torch.tensor(result["train/loss"])
        dist.all_reduce(loss)
        return {**result, "train/loss": float(loss) / dist.get_world_size()}

    trainer.FSDPSFTTrainer.training_step = training_step
    trainer.main()
