"""Sizes: what has to divide what; every way in which a recipe that fits can be made not to."""

from __future__ import annotations

from typing import Any

import pytest

from npu_recipes.catalogue import load, names
from npu_recipes.checks.settings import mistakes

_A, _R, _O = (f"actor_rollout_ref.{part}" for part in ("actor", "ref", "rollout"))


def said(name: str, **changes: Any) -> list[str]:
    recipe = load(name)
    pin = next(iter(recipe.pins))
    settings = {key.lstrip("+"): value for key, value in recipe.options_for(pin).items()}
    settings.update({key.replace("__", "."): value for key, value in changes.items()})
    layout = recipe.layout
    return list(mistakes(settings, algorithm=recipe.algorithm, engine=layout.engine, world=layout.world))


@pytest.mark.parametrize("name", names())
def test_recipes_fit(name: str) -> None:
    assert said(name) == []


@pytest.mark.parametrize("name", [name for name in names() if load(name).layout.devices == 16])
def test_sixteen_devices_may_be_those_of_two_machines(name: str) -> None:
    assert said(name, trainer__nnodes=2 * load(name).layout.nodes, trainer__n_gpus_per_node=8) == []


@pytest.mark.parametrize(
    ("name", "key", "value", "complaint"),
    [
        ("grpo-qwen2.5-7b", "trainer.nnodes", 2, "the recipe's devices are 16"),
        ("grpo-qwen2.5-7b", "data.train_batch_size", 1000, "ppo_mini_batch_size"),
        ("grpo-qwen2.5-7b", f"{_A}.ppo_micro_batch_size_per_gpu", 3, "micro-batch"),
        ("grpo-qwen2.5-7b", f"{_O}.tensor_model_parallel_size", 3, "tensor x data parallel size (3)"),
        ("grpo-qwen2.5-7b", f"{_O}.tensor_model_parallel_size", 0, "is 0"),
        ("grpo-qwen2.5-7b", f"{_O}.max_num_batched_tokens", 1024, "nothing is chunked"),
        ("dapo-qwen3-8b", f"{_A}.ulysses_sequence_parallel_size", 3, "ulysses size (3)"),
        ("dapo-qwen3-8b", f"{_R}.fsdp_config.ulysses_sequence_parallel_size", 3, ""),
        ("dapo-qwen3-8b", f"{_A}.ppo_max_token_len_per_gpu", 1024, "hold no sequence of 22528"),
        ("dapo-qwen3-8b", f"{_R}.log_prob_max_token_len_per_gpu", 1024, "hold no sequence of 22528"),
        ("grpo-qwen3-30b-a3b", f"{_A}.megatron.tensor_model_parallel_size", 3, "tensor x pipeline x context (6)"),
        ("grpo-qwen3-30b-a3b", f"{_A}.megatron.expert_model_parallel_size", 16, "its tensor x pipeline (32)"),
        ("grpo-qwen3-30b-a3b", f"{_O}.max_model_len", 100, "max_model_len"),
        ("grpo-qwen3-235b-a22b", f"{_O}.expert_parallel_size", 32, "expert_parallel_size"),
        ("sft-qwen3-8b", "data.train_batch_size", 255, "ranks that share nothing (4)"),
        ("sft-qwen3-8b", "data.micro_batch_size_per_gpu", 48, "micro_batch_size_per_gpu (48)"),
        ("sft-qwen3-8b", "engine.ulysses_sequence_parallel_size", 3, "ulysses_sequence_parallel_size (3)"),
        ("sft-qwen3-30b-a3b", "engine.tensor_model_parallel_size", 3, "tensor x pipeline x context (6)"),
        ("sft-qwen3-30b-a3b", "engine.expert_model_parallel_size", 16, "engine: expert x its tensor x pipeline (32)"),
        ("sft-qwen3-30b-a3b", "data.train_batch_size", 254, "ranks that share nothing (4)"),
        ("sft-qwen3-235b-a22b", "trainer.nnodes", 4, "the recipe's devices are 128"),
    ],
)
def test_what_does_not_fit_is_named(name: str, key: str, value: int, complaint: str) -> None:
    found = "; ".join(said(name, **{key: value}))

    assert complaint in found if complaint else not found
