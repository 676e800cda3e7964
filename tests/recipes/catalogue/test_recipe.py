"""Recipes: each is whole, fits its devices and names stacks that there are; what is wrong in one is said at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from npu_recipes.catalogue import load, load_pins, names, pin_of_version
from npu_recipes.catalogue.recipe import read
from npu_recipes.errors import RecipeError
from npu_recipes.launch.memory import estimate
from npu_recipes.preparation.data_sets import DATA

STACKS = Path(__file__).parents[3] / "stacks"
TEXT = """\
title: {en: a, zh: b}
algorithm: grpo
data: gsm8k
layout: {engine: fsdp, rollout: vllm, hardware: A2, nodes: 1, devices: 8, memory: 64, model: m, billions: 7}
memory: {en: a, zh: b}
sources: []
environment: {}
options: {a.b: 1}
pins:
  verl@0.9.1: {stacks: [verl-0.9.1]}
"""


def test_those_to_try_things_out_come_first() -> None:
    assert names()[:2] == ["smoke-grpo", "smoke-sft"]


@pytest.mark.parametrize("name", names())
def test_a_recipe_is_whole(name: str) -> None:
    recipe = load(name)

    assert recipe.data in DATA
    assert recipe.sources or recipe.smoke
    assert any("\u4e00" <= letter <= "\u9fff" for letter in recipe.title.zh + recipe.memory.zh)
    for pin in recipe.pins:
        options = recipe.options_for(pin)
        trainer = load_pins()[pin].trainer(recipe.algorithm, recipe.layout.engine)
        assert trainer is not None
        assert trainer.torchrun or options["trainer.nnodes"] == recipe.layout.nodes
        assert options["trainer.n_gpus_per_node"] == recipe.layout.devices
        assert options["trainer.logger"] == ["console", "file"], "the curve is read from the file"


@pytest.mark.parametrize("name", names())
def test_a_recipes_stacks_are_made_of_its_pins(name: str) -> None:
    for pin, part in load(name).pins.items():
        for stack in part.stacks:
            said = json.loads((STACKS / f"{stack}.json").read_text("utf-8"))
            assert pin in said["overlays"], f"{stack} has {said['overlays']}"


@pytest.mark.parametrize("name", [name for name in names() if not name.startswith("smoke")])
def test_a_model_fits_its_devices(name: str) -> None:
    recipe = load(name)

    for pin in recipe.pins:
        shares = {share.what: share.gigabytes for share in estimate(recipe, recipe.options_for(pin))}
        assert sum(size for what, size in shares.items() if what.startswith("training")) < recipe.layout.memory
        left = [size for what, size in shares.items() if "cache" in what]
        assert all(size > 5 for size in left), shares


def test_a_pin_is_found_by_the_version_that_is_installed() -> None:
    assert {pin.name for version in ("0.9.1+npu.1.a8c5b99b", "0.9.1") if (pin := pin_of_version(version))} == {
        "verl@0.9.1"
    }
    assert pin_of_version("0.8.0") is None


def test_all_that_is_wrong_is_said_at_once() -> None:
    wrong = TEXT.replace("algorithm: grpo", "algorithm: ppo").replace("nodes: 1", "nodes: one")
    wrong = wrong.replace("verl@0.9.1: {stacks: [verl-0.9.1]}", "verl@1: {stacks: x, without: [c]}")

    with pytest.raises(RecipeError) as caught:
        read("mine", wrong)

    said = str(caught.value)
    assert all(one in said for one in ("ppo is none of", "nodes", "there is no such pin", "stacks", "c is no option"))
    assert said.count("mine.yaml") == 5


def test_a_pin_without_a_stack_says_why() -> None:
    silent = TEXT.replace("[verl-0.9.1]", "[]")
    with pytest.raises(RecipeError, match=r"pins\.verl@0\.9\.1\.stacks: holds none, and no note says why"):
        read("mine", silent)

    told = read("mine", silent.replace("stacks: []", "stacks: [], note: {en: none here, zh: 这里没有}"))
    note = told.pins["verl@0.9.1"].note
    assert note is not None
    assert note.en == "none here"
    with pytest.raises(RecipeError, match=r"note\.zh: is missing"):
        read("mine", silent.replace("stacks: []", "stacks: [], note: {en: none here}"))


def test_a_recipe_states_what_it_has_otherwise_than_the_one_it_is_like() -> None:
    other = load("grpo-qwen2.5-7b")
    changed = "options: {trainer.save_freq: 7, trainer.test_freq: null}\nlayout: {nodes: 3}\npins: {verl@796871d: null}"
    recipe = read("mine", f"like: grpo-qwen2.5-7b\n{changed}\n")

    assert recipe.layout == replace(other.layout, nodes=3)
    assert dict(recipe.options) == {**without(other.options, "trainer.test_freq"), "trainer.save_freq": 7}
    assert dict(recipe.pins) == without(other.pins, "verl@796871d")
    assert recipe == replace(other, name="mine", layout=recipe.layout, options=recipe.options, pins=recipe.pins)


def without(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name != key}


@pytest.mark.parametrize("other", ["mine", "grpo-qwen2.5-70b"])
def test_a_recipe_like_none_that_there_is_is_refused(other: str) -> None:
    with pytest.raises(RecipeError, match=rf"mine\.yaml: like: {other} is no other recipe\n    fix: name another of"):
        read("mine", f"like: {other}\n")


@pytest.mark.parametrize("text", ["[", "- a", "", TEXT.replace("data: gsm8k\n", ""), TEXT + "more: 1\n"])
def test_what_is_no_recipe_is_refused(text: str) -> None:
    with pytest.raises(RecipeError, match=r"mine\.yaml"):
        read("mine", text)


def test_a_name_that_is_nearly_one_is_suggested() -> None:
    with pytest.raises(RecipeError, match="did you mean grpo-qwen3-8b"):
        load("grpo-qwen3-8B")
