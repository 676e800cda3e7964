"""What verl does before it trains: everything is imported, models are built on the NPU, and monkey patches applied.

Run by the audit as a script. With the argument ``fused`` it does what still
assigns something: fused kernels; with ``vision``, vision-language models.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[4] / "lab")]

import stub_vllm  # noqa: E402

import emulation  # noqa: E402  # the path comes first

emulation.install()
stub_vllm.install_profiler()

import actor  # noqa: E402  # the emulated NPU comes first
import torch  # noqa: E402
import verl.trainer.ppo.ray_trainer  # noqa: E402, F401
from verl.models.transformers.monkey_patch import apply_monkey_patch  # noqa: E402

import vision_language  # noqa: E402

# Not every verl has both kinds of workers and of trainers.
for package, modules in (("workers", ("actor", "fsdp_workers")), ("trainer", ("fsdp_sft_trainer", "sft_trainer"))):
    for module in modules:
        if importlib.util.find_spec(f"verl.{package}.{module}"):
            importlib.import_module(f"verl.{package}.{module}")
if hasattr(engine := importlib.import_module("verl.workers.engine.fsdp.utils"), "apply_npu_fsdp_patches"):
    engine.apply_npu_fsdp_patches()

if "vision" in sys.argv:
    for family in vision_language.families():
        apply_monkey_patch(vision_language.model_of(family), ulysses_sp_size=1, use_remove_padding=True)
else:
    for family in actor.FAMILIES:
        model = actor.model_of(family, "flash_attention_2").to("npu")
        fused = {"use_fused_kernels": True, "fused_kernels_backend": "torch"} if "fused" in sys.argv else {}
        apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True, **fused)
        if not fused:
            model(torch.ones(1, 4, dtype=torch.long).to("npu")).logits.float().sum().backward()
