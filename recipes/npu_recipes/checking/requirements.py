"""Requirements: what all of verl's own recipes for NPUs set, by engine: without it training stops, or is slow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from npu_recipes.catalogue import Recipe

_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
# By what a recipe has: an algorithm, an engine of training, an engine of generation.
_REQUIRED: Mapping[str, Mapping[str, Any]] = {
    # Up to 0.6.1 the device is not looked for.
    "fsdp": {"trainer.device": "npu"},
    "megatron": {
        "trainer.device": "npu",
        # MindSpeed has no other attention.
        f"{_ACTOR}.megatron.override_transformer_config.use_flash_attn": True,
    },
    # There is no compiler for NPUs that torch.compile would call by itself.
    "vllm": {f"{_ACTOR}.use_torch_compile": False, f"{_REF}.use_torch_compile": False},
    "sglang": {
        f"{_ACTOR}.use_torch_compile": False,
        f"{_REF}.use_torch_compile": False,
        f"{_ROLLOUT}.engine_kwargs.sglang.attention_backend": "ascend",
    },
}


def unmet(recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield what of it settings lack; a smoke recipe, which runs on any machine, has to set nothing."""
    if recipe.smoke:
        return
    for part in (recipe.layout.engine, recipe.layout.rollout):
        for name, value in _REQUIRED.get(part, {}).items():
            # The trainer of fine-tuning has one model, whose engine stands at the top.
            key = name.replace(f"{_ACTOR}.megatron.", "engine.") if recipe.algorithm == "sft" else name
            if settings.get(key) != value:
                yield f"{key} is {settings.get(key)}: verl's own recipes have {value}"
