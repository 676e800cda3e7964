"""Every recipe against every verl it claims, patched and installed: verl's own configuration takes all of it."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from npu_recipes.catalogue import load, names
from verl_stacks import STACKS, Stack

from ..stacks import Recipes, installed

pytestmark = [pytest.mark.index, pytest.mark.thorough]
# A recipe that fits, changed so that it does not: the change, and what is said of it.
WRONG = {
    "verl@0.9.1": [
        ("actor_rollout_ref.actor.ppo_mini_batchsize=4", "is no key of this verl; did you mean `ppo_mini_batch_size`?"),
        ("+actor_rollout_ref.actor.ppo_mini_batchsize=4", "is added to what has no such field"),
        ("actor_rollout_ref.actor.use_kl_loss=1", "is a bool, not a int"),
        ("actor_rollout_ref.rollout.n=four", "is a int, not a str"),
        ("actor_rollout_ref.actor.loss_agg_mode=mean", "Invalid loss_agg_mode"),
        ("data.train_batch_size=1000", "is no multiple of actor.ppo_mini_batch_size"),
        ("actor_rollout_ref.actor.use_torch_compile=True", "own recipes have False"),
        ("+trainer.nnodes=1", "is there already"),
    ]
}


def recipes_for(pin: str) -> list[str]:
    return [name for name in names() if pin in load(name).pins]


PARAMETERS = [pytest.param(stack, id=stack.verl, marks=stack.marks) for stack in STACKS]


@pytest.fixture(scope="module", params=PARAMETERS)
def stack(request: pytest.FixtureRequest) -> Stack:
    found: Stack = request.param
    return found


@pytest.fixture(scope="module")
def recipes(stack: Stack, shared: Path) -> Recipes:
    return installed(stack, shared)


def asked(recipes: Recipes, pin: str, *words: str) -> list[dict[str, Any]]:
    done = recipes.run("-m", "npu_recipes.checks", pin, *words)
    assert done.stdout, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert done.returncode == int(any(one["problems"] for one in found))
    return found


def test_verl_takes_every_recipe(recipes: Recipes, stack: Stack, subtests: pytest.Subtests) -> None:
    found = asked(recipes, stack.verl, *recipes_for(stack.verl))

    assert found
    for one in found:
        with subtests.test(one["recipe"]):
            if any("holds no recipes" in problem for problem in one["problems"]):
                pytest.skip(f"{one['recipe']}: {one['problems'][0]}")
            assert one["problems"] == []


@pytest.mark.parametrize("stack", [one for one in PARAMETERS if one.id in WRONG], indirect=True)
def test_what_verl_does_not_take_is_named(recipes: Recipes, stack: Stack, subtests: pytest.Subtests) -> None:
    cases = WRONG[stack.verl]
    found = asked(recipes, stack.verl, *chain.from_iterable(("grpo-qwen2.5-7b", change) for change, _ in cases))

    for (change, complaint), one in zip(cases, found, strict=True):
        with subtests.test(change):
            assert complaint in "; ".join(one["problems"])


def test_hydra_reads_values_as_they_are_meant(recipes: Recipes) -> None:
    done = recipes.run(Path(__file__).with_name("hydra_overrides.py"))

    assert done.returncode == 0, done.stderr
