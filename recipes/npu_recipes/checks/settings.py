"""Settings: numbers of a configuration that have to divide others, and what verl's own recipes for NPUs always set.

verl checks some divisions, of some trainers, when its workers have started; here all are checked before anything does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from npu_recipes.catalogue import Recipe

Settings = Mapping[str, Any]
_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))
# There is no compiler for NPUs that torch.compile would call by itself.
_UNCOMPILED = {f"{_ACTOR}.use_torch_compile": False, f"{_REF}.use_torch_compile": False}
# What training stops without, or is slow without, by the engine of training or of generation.
_REQUIRED: Mapping[str, Mapping[str, Any]] = {
    # Up to 0.6.1 verl does not detect the device.
    "fsdp": {"trainer.device": "npu"},
    # MindSpeed has no other attention.
    "megatron": {"trainer.device": "npu", f"{_ACTOR}.megatron.override_transformer_config.use_flash_attn": True},
    "vllm": _UNCOMPILED,
    "sglang": {**_UNCOMPILED, f"{_ROLLOUT}.engine_kwargs.sglang.attention_backend": "ascend"},
}


def unmet(recipe: Recipe, settings: Settings) -> Iterator[str]:
    """Yield which required settings are missing; a smoke recipe, which runs on any machine, needs none."""
    if recipe.smoke:
        return
    for part in (recipe.layout.engine, recipe.layout.rollout):
        for name, value in _REQUIRED.get(part, {}).items():
            # The trainer of fine-tuning has one model, whose engine stands at the top.
            key = name.replace(f"{_ACTOR}.megatron.", "engine.") if recipe.algorithm == "sft" else name
            if settings.get(key) != value:
                yield f"{key} is {settings.get(key)}: verl's own recipes have {value}"


def mistakes(settings: Settings, *, algorithm: str, engine: str, world: int) -> Iterator[str]:
    """Yield which numbers do not fit each other.

    Args:
        settings: values by their whole keys, as the trainer will see them.
        algorithm: of the recipe.
        engine: of training.
        world: how many devices there are.
    """
    devices = settings.get("trainer.nnodes", 1) * settings.get("trainer.n_gpus_per_node", 0)
    if devices not in (world, 0):
        yield f"trainer: nnodes x n_gpus_per_node is {int(devices)}, the recipe's devices are {world}"
    if algorithm == "sft":
        yield from _tuning(settings, engine, world)
        return
    yield from _rollout(settings, world)
    batch, mini = settings["data.train_batch_size"], settings[f"{_ACTOR}.ppo_mini_batch_size"]
    yield from _multiple(batch, "data.train_batch_size", mini, "actor.ppo_mini_batch_size")
    if engine == "megatron":
        yield from _megatron(settings, world)
    else:
        yield from _fsdp(settings, world)
    yield from _budgets(settings)


def _multiple(number: int, what: str, by: int, whose: str) -> Iterator[str]:
    """Yield the mistake if a number is no multiple of another."""
    if by < 1:
        yield f"{whose} is {by}"
    elif number % by:
        yield f"{what} ({number}) is no multiple of {whose} ({by})"


def _tuning(settings: Settings, engine: str, world: int) -> Iterator[str]:
    model = _model(settings, "engine") if engine == "megatron" else 1
    ulysses = settings.get("engine.ulysses_sequence_parallel_size", settings.get("ulysses_sequence_parallel_size", 1))
    yield from _multiple(world, "the devices", ulysses, "ulysses_sequence_parallel_size")
    yield from _multiple(world, "the devices", model, "engine: tensor x pipeline x context")
    if engine == "megatron":
        yield from _experts(settings, "engine", world)
    ranks = max(world // max(ulysses * model, 1), 1)
    batch, micro = settings["data.train_batch_size"], settings.get("data.micro_batch_size_per_gpu", 1)
    yield from _multiple(batch, "data.train_batch_size", ranks, "ranks that share nothing")
    if not settings.get("data.use_dynamic_bsz"):
        yield from _multiple(batch // ranks, "each rank's batch", micro, "data.micro_batch_size_per_gpu")


def _rollout(settings: Settings, world: int) -> Iterator[str]:
    tensor = settings[f"{_ROLLOUT}.tensor_model_parallel_size"]
    experts = settings.get(f"{_ROLLOUT}.expert_parallel_size", 1)
    shared = tensor * settings.get(f"{_ROLLOUT}.data_parallel_size", 1)
    yield from _multiple(world, "the devices", shared, "rollout: tensor x data parallel size")
    if experts > 1:
        # verl accepts no other size of experts than this product.
        yield from _multiple(experts, "rollout.expert_parallel_size", shared, "tensor x data")
        yield from _multiple(shared, "rollout: tensor x data", experts, "expert_parallel_size")


def _fsdp(settings: Settings, world: int) -> Iterator[str]:
    answers = settings[f"{_ROLLOUT}.n"]
    for part in (_ACTOR, _REF):
        ulysses = _ulysses(settings, part)
        yield from _multiple(world, "the devices", ulysses, f"{part}: ulysses size")
        yield from _answers(settings, part, max(world // max(ulysses, 1), 1))
    ranks = max(world // max(_ulysses(settings, _ACTOR), 1), 1)
    mini = settings[f"{_ACTOR}.ppo_mini_batch_size"] * answers
    yield from _multiple(mini, "actor: answers of a mini-batch", ranks, "its ranks")
    micro = settings.get(f"{_ACTOR}.ppo_micro_batch_size_per_gpu")
    if micro and not settings.get(f"{_ACTOR}.use_dynamic_bsz"):
        yield from _multiple(mini // ranks, "actor: a rank's mini-batch", micro, "its micro-batch")


def _megatron(settings: Settings, world: int) -> Iterator[str]:
    for part in (_ACTOR, _REF):
        model = _model(settings, f"{part}.megatron")
        yield from _multiple(world, "the devices", model, f"{part}: tensor x pipeline x context")
        yield from _experts(settings, f"{part}.megatron", world)
        yield from _answers(settings, part, max(world // max(model, 1), 1))
    ranks = max(world // max(_model(settings, f"{_ACTOR}.megatron"), 1), 1)
    mini = settings[f"{_ACTOR}.ppo_mini_batch_size"] * settings[f"{_ROLLOUT}.n"]
    yield from _multiple(mini, "actor: answers of a mini-batch", ranks, "its ranks")


def _answers(settings: Settings, part: str, ranks: int) -> Iterator[str]:
    batch = settings["data.train_batch_size"] * settings[f"{_ROLLOUT}.n"]
    yield from _multiple(batch, "answers of a step", ranks, f"{part}: ranks that share nothing")


def _ulysses(settings: Settings, part: str) -> int:
    """Return how many devices share a sequence: verl takes the engine's number if the other is 1."""
    own = settings.get(f"{part}.ulysses_sequence_parallel_size", 1)
    return int(own if own != 1 else settings.get(f"{part}.fsdp_config.ulysses_sequence_parallel_size", 1))


def _model(settings: Settings, section: str) -> int:
    """Return how many devices share a model."""
    return _product(settings, section, "tensor_model", "pipeline_model", "context")


def _product(settings: Settings, section: str, *kinds: str) -> int:
    """Return the product of some parallel sizes of a section; one that is not set is 1."""
    return math.prod(int(settings.get(f"{section}.{kind}_parallel_size") or 1) for kind in kinds)


def _experts(settings: Settings, section: str, world: int) -> Iterator[str]:
    share = _product(settings, section, "expert_model", "expert_tensor", "pipeline_model")
    whose = f"{section.removesuffix('.megatron')}: expert x its tensor x pipeline"
    yield from _multiple(world, "the devices", share, whose)


def _budgets(settings: Settings) -> Iterator[str]:
    """Yield token budgets that hold no whole sequence."""
    length = settings["data.max_prompt_length"] + settings["data.max_response_length"]
    for part, dynamic, budget in (
        (_ACTOR, "use_dynamic_bsz", "ppo_max_token_len_per_gpu"),
        (_REF, "log_prob_use_dynamic_bsz", "log_prob_max_token_len_per_gpu"),
    ):
        shares = max(_ulysses(settings, part), 1)
        held = settings.get(f"{part}.{budget}", 0) * shares
        if settings.get(f"{part}.{dynamic}") and held < length:
            yield f"{part}.{budget}: {held} tokens on {shares} devices hold no sequence of {length}"
    most = settings.get(f"{_ROLLOUT}.max_num_batched_tokens", length)
    if not settings.get(f"{_ROLLOUT}.enable_chunked_prefill", True) and most < length:
        yield f"{_ROLLOUT}.max_num_batched_tokens: {most} is less than a sequence of {length}, and nothing is chunked"
    model_length = settings.get(f"{_ROLLOUT}.max_model_len")
    if model_length and model_length < length:
        yield f"{_ROLLOUT}.max_model_len: {model_length} is less than a sequence of {length}"
