"""Batches that mix images and text: told by verl, transformers computes what verl's own forwards do, bit for bit."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from changed import helper
from verl.models.transformers import monkey_patch

import vision_language

if helper("images") is None:
    pytest.skip("this verl has no forwards of its own for such batches", allow_module_level=True)

from transformers.integrations import vision_towers  # nothing is told before that
from verl.utils.npu import images

# GLM-4V is not among them: with verl's positions its forward runs on no transformers that one of our pins is paired
# with. From 5 on a tower gives an object, of which it reads a tensor's shape, and before that the language model does
# not know the row of the text.
FAMILIES = [name for name in vision_language.families() if name != "glm4v"]
KINDS = ("text", "images", "mixed", "videos", "both")
LAYOUTS = {"packed": vision_language.batch, "padded": vision_language.padded}
Results = dict[str, torch.Tensor | None]


@pytest.fixture(autouse=True)
def _untold() -> Iterator[None]:
    yield
    vision_towers.always_run_vision_towers(always=False)


def _theirs(family: str, inputs: dict[str, Any]) -> Results:
    """Return what a model computes with verl's own forwards, assigned as upstream assigns them."""
    module = "qwen2_vl" if family.startswith("qwen2") else "qwen3_vl"
    forwards = importlib.import_module(f"verl.models.transformers.{module}")
    base, head = vision_language.classes(family)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "forward", getattr(forwards, f"{module}_base_forward"))
        patch.setattr(head, "forward", forwards.forward_with_normal_backend)
        return vision_language.trained(vision_language.model_of(family), inputs)


def _ours(family: str, inputs: dict[str, Any]) -> Results:
    model = vision_language.model_of(family)
    monkey_patch.apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True)
    return vision_language.trained(model, inputs)


def _assert_same(found: Results, expected: Results) -> None:
    assert found.keys() == expected.keys()
    assert [name for name, one in found.items() if one is None] == []
    assert [name for name, one in expected.items() if one is None or not torch.equal(found[name], one)] == []


@pytest.mark.parametrize(
    ("kind", "layout"),
    [
        pytest.param(kind, layout, marks=[] if (kind, layout) == ("text", "packed") else pytest.mark.thorough)
        for kind in KINDS
        for layout in LAYOUTS
    ],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_every_gradient_are_those_of_verls_own_forwards(family: str, kind: str, layout: str) -> None:
    inputs = LAYOUTS[layout](kind)
    found = _ours(family, inputs)
    if kind == "text" and family.startswith("qwen2") and transformers.__version__ >= "5":
        # Upstream's defect, which leaves such a batch untrained: a tower gives an object here.
        with pytest.raises(AttributeError, match="mean"):
            _theirs(family, inputs)
        vision_towers.always_run_vision_towers(always=False)
        expected = vision_language.trained(vision_language.model_of(family), inputs)
        assert {name for name, one in expected.items() if one is None} == _of_tower(expected)
        expected |= {name: torch.zeros_like(found[name]) for name in _of_tower(expected)}
    else:
        expected = _theirs(family, inputs)
    _assert_same(found, expected)
    assert (kind != "text") == any(found[name].any() for name in _of_tower(found))


def _of_tower(results: Results) -> set[str]:
    return {name for name in results if ".visual." in name}


@pytest.mark.parametrize("family", vision_language.families())
def test_nothing_of_a_model_that_transformers_serves_is_assigned(family: str) -> None:
    before = [one.forward for one in vision_language.classes(family)]

    monkey_patch.apply_monkey_patch(vision_language.model_of(family), ulysses_sp_size=1, use_remove_padding=False)

    assert [one.forward for one in vision_language.classes(family)] == before
    assert vision_towers._always


@pytest.mark.parametrize("family", FAMILIES)
def test_beside_a_transformers_that_is_not_told_verls_forwards_are_assigned(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(images, "_HOOK", "transformers.integrations.no_such_module")
    for one in (one for name in FAMILIES for one in vision_language.classes(name)):
        monkeypatch.setattr(one, "forward", one.forward)

    monkey_patch.apply_monkey_patch(vision_language.model_of(family), ulysses_sp_size=1, use_remove_padding=False)

    found = {one.forward.__module__.rpartition(".")[0] for one in vision_language.classes(family)}
    assert found == {"verl.models.transformers"}
    assert not vision_towers._always


@pytest.mark.parametrize("family", [name for name in FAMILIES if name.startswith("qwen3")])
def test_positions_are_looked_up_by_transformers_where_it_does_that_and_by_verl_elsewhere(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(importlib.import_module("verl.models.transformers.qwen3_vl"), "fast_pos_embed_interpolate"):
        pytest.skip("this verl has no such function")
    tower = type(vision_language.model_of(family).model.visual)
    before = tower.fast_pos_embed_interpolate
    monkeypatch.setattr(tower, "fast_pos_embed_interpolate", before)

    monkey_patch.apply_monkey_patch(vision_language.model_of(family), ulysses_sp_size=1)
    assert tower.fast_pos_embed_interpolate is before

    monkeypatch.setattr(images, "_HOOK", "transformers.integrations.no_such_module")
    images.use_position_lookup(tower, print)
    assert tower.fast_pos_embed_interpolate is print


def test_what_stands_for_a_model_that_transformers_does_not_have_is_assigned_to() -> None:
    nothing = SimpleNamespace(forward=None)
    images.use_mixed_batches(nothing, print)
    assert nothing.forward is print
    assert not vision_towers._always


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_fused_kernels_get_from_the_model_what_verls_own_forward_gives(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, head = vision_language.classes(family)
    monkeypatch.setattr(head, "forward", head.forward)
    model = vision_language.model_of(family)
    fused = {"use_fused_kernels": True, "fused_kernels_backend": "torch"}
    monkey_patch.apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True, **fused)
    inputs = {**vision_language.batch("mixed"), "temperature": 0.9, "return_dict": True}
    found = model(**inputs)

    module = "qwen2_vl" if family.startswith("qwen2") else "qwen3_vl"
    forwards = importlib.import_module(f"verl.models.transformers.{module}")
    monkeypatch.setattr(base, "forward", getattr(forwards, f"{module}_base_forward"))
    expected = model(**inputs)

    assert torch.equal(found.log_probs, expected.log_probs)
    assert torch.equal(found.entropy, expected.entropy)
