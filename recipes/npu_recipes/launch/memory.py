"""Memory: how much of a device's memory a recipe's model surely fills; activations and graphs come on top of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from npu_recipes.catalogue import Recipe

_ACTOR, _ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
# Bytes a parameter: the weights in fp32 and their gradients, Adam's two moments, and bf16.
_WEIGHTS, _MOMENTS, _HALF = 8, 8, 2


@dataclass(frozen=True, kw_only=True)
class MemoryShare:
    """A part of a device's memory: what fills it, and how much that is."""

    what: str
    gigabytes: float


def estimate(recipe: Recipe, settings: Mapping[str, Any]) -> list[MemoryShare]:
    """Return what fills each device's memory in training and in generation; nothing for a tiny model."""
    if recipe.smoke or not settings:
        return []
    return [*_training(recipe, settings), *_generation(recipe, settings)]


def _training(recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[MemoryShare]:
    layout = recipe.layout
    if settings.get("model.lora_rank"):
        yield MemoryShare(
            what="training: weights, without adapters", gigabytes=layout.billions * _WEIGHTS / 2 / layout.world
        )
        return
    section = _ACTOR + (".megatron" if layout.engine == "megatron" else ".fsdp_config")
    if recipe.algorithm == "sft":
        section = "engine"
    for what, option, size in (
        ("weights and gradients", "param_offload", _WEIGHTS),
        ("Adam's moments", "optimizer_offload", _MOMENTS),
    ):
        place = ", in the host's memory while generating" if settings.get(f"{section}.{option}") else ""
        yield MemoryShare(what=f"training: {what}{place}", gigabytes=layout.billions * size / layout.world)


def _generation(recipe: Recipe, settings: Mapping[str, Any]) -> Iterator[MemoryShare]:
    if not recipe.layout.rollout or settings.get("model.lora_rank"):
        return
    sizes = [settings.get(f"{_ROLLOUT}.{kind}_parallel_size", 1) for kind in ("tensor_model", "expert")]
    used = settings.get(f"{_ROLLOUT}.gpu_memory_utilization", 0.5) * recipe.layout.memory
    held = recipe.layout.billions * _HALF / max(sizes)
    yield MemoryShare(what="generating: weights in bf16", gigabytes=held)
    yield MemoryShare(what="generating: left for the cache of keys and values", gigabytes=used - held)
