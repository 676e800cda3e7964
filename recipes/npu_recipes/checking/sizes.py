"""Sizes: what of a configuration has to divide what.

verl checks some of it, of some trainers, when workers are there; here all of it is said before anything starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Settings = Mapping[str, Any]
_ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))


@dataclass(frozen=True, kw_only=True)
class _Division:
    """`number`, which is `what`, has to be a multiple of `by`, which is `whose`."""

    number: int
    what: str
    by: int
    whose: str

    def mistake(self) -> str:
        if self.by < 1:
            return f"{self.whose} is {self.by}"
        return (
            ""
            if self.number % self.by == 0
            else f"{self.what} ({self.number}) is no multiple of {self.whose} ({self.by})"
        )


def mistakes(settings: Settings, *, algorithm: str, engine: str, world: int) -> list[str]:
    """Return what does not go together.

    Args:
        settings: values by their whole keys, as the trainer will see them.
        algorithm: of the recipe.
        engine: likewise.
        world: how many devices there are.
    """
    found = [f"trainer: nnodes x n_gpus_per_node is {_world(settings)}, the recipe's devices are {world}"]
    found = found if _world(settings) not in (world, 0) else []
    if algorithm == "sft":
        return found + [one for one in map(_Division.mistake, _tuning(settings, engine, world)) if one]
    divisions = [*_generating(settings, world), *_batches(settings)]
    divisions += _megatron(settings, world) if engine == "megatron" else _fsdp(settings, world)
    return found + [one for one in map(_Division.mistake, divisions) if one] + list(_budgets(settings))


def _world(settings: Settings) -> int:
    return int(settings.get("trainer.nnodes", 1) * settings.get("trainer.n_gpus_per_node", 0))


def _tuning(settings: Settings, engine: str, world: int) -> Iterator[_Division]:
    model = _model(settings, "engine") if engine == "megatron" else 1
    ulysses = settings.get("engine.ulysses_sequence_parallel_size", settings.get("ulysses_sequence_parallel_size", 1))
    yield _Division(number=world, what="the devices", by=ulysses, whose="ulysses_sequence_parallel_size")
    yield _Division(number=world, what="the devices", by=model, whose="engine: tensor x pipeline x context")
    if engine == "megatron":
        yield _experts(settings, "engine", world)
    ranks = max(world // max(ulysses * model, 1), 1)
    batch, micro = settings["data.train_batch_size"], settings.get("data.micro_batch_size_per_gpu", 1)
    yield _Division(number=batch, what="data.train_batch_size", by=ranks, whose="ranks that share nothing")
    if not settings.get("data.use_dynamic_bsz"):
        share = batch // ranks
        yield _Division(number=share, what="each rank's batch", by=micro, whose="data.micro_batch_size_per_gpu")


def _generating(settings: Settings, world: int) -> Iterator[_Division]:
    tensor = settings[f"{_ROLLOUT}.tensor_model_parallel_size"]
    data = settings.get(f"{_ROLLOUT}.data_parallel_size", 1)
    experts = settings.get(f"{_ROLLOUT}.expert_parallel_size", 1)
    yield _Division(number=world, what="the devices", by=tensor * data, whose="rollout: tensor x data parallel size")
    if experts > 1:
        # verl takes no other.
        yield _Division(number=experts, what="rollout.expert_parallel_size", by=tensor * data, whose="tensor x data")
        yield _Division(number=tensor * data, what="rollout: tensor x data", by=experts, whose="expert_parallel_size")


def _batches(settings: Settings) -> Iterator[_Division]:
    batch, mini = settings["data.train_batch_size"], settings[f"{_ACTOR}.ppo_mini_batch_size"]
    yield _Division(number=batch, what="data.train_batch_size", by=mini, whose="actor.ppo_mini_batch_size")


def _fsdp(settings: Settings, world: int) -> Iterator[_Division]:
    answers = settings[f"{_ROLLOUT}.n"]
    for part in (_ACTOR, _REF):
        ulysses = _ulysses(settings, part)
        yield _Division(number=world, what="the devices", by=ulysses, whose=f"{part}: ulysses size")
        ranks = max(world // max(ulysses, 1), 1)
        batch = settings["data.train_batch_size"] * answers
        yield _Division(number=batch, what="answers of a step", by=ranks, whose=f"{part}: ranks that share nothing")
    ranks = max(world // max(_ulysses(settings, _ACTOR), 1), 1)
    mini = settings[f"{_ACTOR}.ppo_mini_batch_size"] * answers
    yield _Division(number=mini, what="actor: answers of a mini-batch", by=ranks, whose="its ranks")
    micro = settings.get(f"{_ACTOR}.ppo_micro_batch_size_per_gpu")
    if micro and not settings.get(f"{_ACTOR}.use_dynamic_bsz"):
        yield _Division(number=mini // ranks, what="actor: a rank's mini-batch", by=micro, whose="its micro-batch")


def _ulysses(settings: Settings, part: str) -> int:
    """Return how many devices share a sequence: verl takes the one of the engine where the other says 1."""
    own = settings.get(f"{part}.ulysses_sequence_parallel_size", 1)
    return int(own if own != 1 else settings.get(f"{part}.fsdp_config.ulysses_sequence_parallel_size", 1))


def _megatron(settings: Settings, world: int) -> Iterator[_Division]:
    answers = settings[f"{_ROLLOUT}.n"]
    for part in (_ACTOR, _REF):
        model = _model(settings, f"{part}.megatron")
        yield _Division(number=world, what="the devices", by=model, whose=f"{part}: tensor x pipeline x context")
        yield _experts(settings, f"{part}.megatron", world)
        ranks = max(world // max(model, 1), 1)
        batch = settings["data.train_batch_size"] * answers
        yield _Division(number=batch, what="answers of a step", by=ranks, whose=f"{part}: ranks that share nothing")
    ranks = max(world // max(_model(settings, f"{_ACTOR}.megatron"), 1), 1)
    mini = settings[f"{_ACTOR}.ppo_mini_batch_size"] * answers
    yield _Division(number=mini, what="actor: answers of a mini-batch", by=ranks, whose="its ranks")


def _model(settings: Settings, section: str) -> int:
    """Return how many devices share a model."""
    names = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
    return math.prod(int(settings.get(f"{section}.{name}") or 1) for name in names)


def _experts(settings: Settings, section: str, world: int) -> _Division:
    names = ("expert_model_parallel_size", "expert_tensor_parallel_size", "pipeline_model_parallel_size")
    share = math.prod(int(settings.get(f"{section}.{name}") or 1) for name in names)
    whose = f"{section.removesuffix('.megatron')}: expert x its tensor x pipeline"
    return _Division(number=world, what="the devices", by=share, whose=whose)


def _budgets(settings: Settings) -> Iterator[str]:
    """Yield token budgets that hold no whole sequence."""
    length = settings["data.max_prompt_length"] + settings["data.max_response_length"]
    for part, dynamic, budget in (
        (_ACTOR, "use_dynamic_bsz", "ppo_max_token_len_per_gpu"),
        (_REF, "log_prob_use_dynamic_bsz", "log_prob_max_token_len_per_gpu"),
    ):
        if not settings.get(f"{part}.{dynamic}"):
            continue
        shares = max(_ulysses(settings, part), 1)
        held = settings.get(f"{part}.{budget}", 0) * shares
        if held < length:
            yield f"{part}.{budget}: {held} tokens on {shares} devices hold no sequence of {length}"
    most = settings.get(f"{_ROLLOUT}.max_num_batched_tokens", length)
    if not settings.get(f"{_ROLLOUT}.enable_chunked_prefill", True) and most < length:
        yield f"{_ROLLOUT}.max_num_batched_tokens: {most} is less than a sequence of {length}, and nothing is chunked"
    model_length = settings.get(f"{_ROLLOUT}.max_model_len")
    if model_length and model_length < length:
        yield f"{_ROLLOUT}.max_model_len: {model_length} is less than a sequence of {length}"
