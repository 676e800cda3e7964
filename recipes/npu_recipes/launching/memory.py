"""Memory: what of a device's memory a recipe's model fills for certain, by its settings.

What activations and graphs need comes on top, and is what is left for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from npu_recipes.catalogue import Recipe

_ACTOR, _ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
# Bytes a parameter: the weights in fp32 and their gradients, Adam's two moments, and bf16.
_WEIGHTS, _MOMENTS, _HALF = 8, 8, 2


@dataclass(frozen=True, kw_only=True)
class Share:
    """A part of a device's memory: how much it is, and what for."""

    what: str
    gigabytes: float


def estimate(recipe: Recipe, settings: Mapping[str, Any]) -> list[Share]:
    """Return what a recipe's model fills of each device while it trains and while it generates; nothing if tiny."""
    if recipe.smoke or not settings:
        return []
    world, billions = recipe.layout.world, recipe.layout.billions
    if settings.get("model.lora_rank"):
        return [Share(what="training: weights, without adapters", gigabytes=billions * _WEIGHTS / 2 / world)]
    section = _ACTOR + (".megatron" if recipe.layout.engine == "megatron" else ".fsdp_config")
    section = "engine" if recipe.algorithm == "sft" else section
    offloaded = [
        what
        for key, what in (("param_offload", "weights"), ("optimizer_offload", "moments"))
        if settings.get(f"{section}.{key}")
    ]
    shares = [
        Share(
            what=f"training: weights and gradients{_note('weights', offloaded)}", gigabytes=billions * _WEIGHTS / world
        ),
        Share(what=f"training: Adam's moments{_note('moments', offloaded)}", gigabytes=billions * _MOMENTS / world),
    ]
    if recipe.layout.rollout:
        size = settings.get(f"{_ROLLOUT}.tensor_model_parallel_size", 1)
        size = max(size, settings.get(f"{_ROLLOUT}.expert_parallel_size", 1))
        used = settings.get(f"{_ROLLOUT}.gpu_memory_utilization", 0.5) * recipe.layout.memory
        held = billions * _HALF / size
        shares += [
            Share(what="generating: weights in bf16", gigabytes=held),
            Share(what="generating: left for the cache of keys and values", gigabytes=used - held),
        ]
    return shares


def _note(what: str, offloaded: list[str]) -> str:
    return ", in the host's memory while generating" if what in offloaded else ""
