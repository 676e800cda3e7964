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

linear_attention = helper("linear_attention")
# GLM-4V is not among them: with verl's positions its forward runs on no transformers that one of our pins is paired
# with. From 5 on a tower gives an object, of which it reads a tensor's shape, and before that the language model does
# not know the row of the text.
MODULES = {"qwen2_vl": "qwen2_vl", "qwen2_5_vl": "qwen2_vl", "qwen3_vl": "qwen3_vl", "qwen3_vl_moe": "qwen3_vl"}
if linear_attention:
    MODULES |= {"qwen3_5": "qwen3_5", "qwen3_5_moe": "qwen3_5"}
FAMILIES = [name for name in vision_language.families() if name in MODULES]
HYBRID = [name for name in FAMILIES if MODULES[name] == "qwen3_5"]
_NONE = pytest.mark.skip(reason="neither this verl nor its transformers has such a model")
KINDS = ("text", "images", "mixed", "videos", "both")
LAYOUTS = {"packed": vision_language.batch, "padded": vision_language.padded}
Results = dict[str, torch.Tensor | None]


@pytest.fixture(autouse=True)
def _untold() -> Iterator[None]:
    yield
    vision_towers.always_run_vision_towers(always=False)
    if linear_attention:
        _separate(separate=False)


def _separate(*, separate: bool) -> None:
    importlib.import_module("transformers.integrations.packed_linear_attention").separate_packed_sequences(
        separate=separate
    )


def _forwards(family: str) -> tuple[str, Any]:
    """Return how verl's module of a family is called, and the module."""
    return MODULES[family], importlib.import_module(f"verl.models.transformers.{MODULES[family]}")


def _layers(family: str) -> tuple[Any, Any]:
    """Return a hybrid family's classes of layers, and of what has linear attention in them."""
    package = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    prefix = vision_language.FAMILIES[family][0]
    return getattr(package, f"{prefix}DecoderLayer"), getattr(package, f"{prefix}GatedDeltaNet")


def _theirs(family: str, inputs: dict[str, Any]) -> Results:
    """Return what a model computes with verl's own forwards, assigned as upstream assigns them."""
    module, forwards = _forwards(family)
    base, head = vision_language.classes(family)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "forward", getattr(forwards, f"{module}_base_forward"))
        patch.setattr(head, "forward", forwards.forward_with_normal_backend)
        if family in HYBRID:
            for one, name in zip(_layers(family), ("decoder_layer", "gated_delta_net"), strict=True):
                patch.setattr(one, "forward", getattr(forwards, f"qwen3_5_{name}_forward"))
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
    ("family", "kind", "layout"),
    [
        pytest.param(family, kind, layout, marks=[] if (kind, layout) == ("text", "packed") else pytest.mark.thorough)
        for family in FAMILIES
        for kind in KINDS
        for layout in LAYOUTS
        # verl's own results for packed sequences are tested below.
        if (family not in HYBRID or layout == "padded")
    ],
)
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


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        pytest.param(family, kind, marks=[] if kind == "mixed" else pytest.mark.thorough)
        for family in HYBRID
        for kind in KINDS
    ]
    or [pytest.param("", "", marks=_NONE)],
)
def test_linear_attention_separates_packed_sequences_without_kernels(family: str, kind: str) -> None:
    inputs = vision_language.batch(kind)
    lengths = list(vision_language.LENGTHS)
    padded = _ours(family, vision_language.padded(kind))["logits"]
    assert padded is not None
    expected = torch.cat([row[:length] for row, length in zip(padded, lengths, strict=True)])

    found = _ours(family, inputs)["logits"]
    assert found is not None
    torch.testing.assert_close(found[0], expected, atol=1e-4, rtol=1e-4)

    # As verl's engine passes it; without kernels, the functions accept it and ignore it.
    bounds = torch.tensor([0, *lengths]).cumsum(0)
    _separate(separate=False)
    theirs = _theirs(family, {**inputs, "cu_seqlens": bounds, "cu_seqlens_cpu": bounds})["logits"]
    assert theirs is not None
    torch.testing.assert_close(theirs[0, : lengths[0]], expected[: lengths[0]], atol=1e-4, rtol=1e-4)
    assert (theirs[0] - expected)[lengths[0] :].abs().max() > 0.01


def _of_tower(results: Results) -> set[str]:
    return {name for name in results if ".visual." in name}


@pytest.mark.parametrize("family", vision_language.families())
def test_models_that_transformers_npu_handles_are_not_patched(family: str) -> None:
    classes = [*vision_language.classes(family), *(_layers(family) if family in HYBRID else ())]
    before = [one.forward for one in classes]

    monkey_patch.apply_monkey_patch(vision_language.model_of(family), ulysses_sp_size=1, use_remove_padding=False)

    assert [one.forward for one in classes] == before
    assert vision_towers._always


@pytest.mark.parametrize("family", FAMILIES)
def test_with_upstreams_transformers_verls_forwards_are_assigned(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in filter(None, (images, linear_attention)):
        monkeypatch.setattr(module, "_HOOK", "transformers.integrations.no_such_module")
    classes = [(*vision_language.classes(name), *(_layers(name) if name in HYBRID else ())) for name in FAMILIES]
    for one in (one for several in classes for one in several):
        monkeypatch.setattr(one, "forward", one.forward)

    monkey_patch.apply_monkey_patch(vision_language.model_of(family), ulysses_sp_size=1, use_remove_padding=False)

    found = {one.forward.__module__.rpartition(".")[0] for one in classes[FAMILIES.index(family)]}
    assert found == {"verl.models.transformers"}
    assert not vision_towers._always


@pytest.mark.parametrize(
    "family", [name for name in FAMILIES if name.startswith("qwen3")] or [pytest.param("", marks=_NONE)]
)
def test_verl_patches_position_lookup_only_if_transformers_lacks_it(
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


def test_placeholders_of_missing_models_are_assigned_to() -> None:
    nothing = SimpleNamespace(forward=None)
    images.use_mixed_batches(nothing, print)
    assert nothing.forward is print
    assert not vision_towers._always


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_fused_kernels_get_the_results_of_verls_own_forward(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base, head = vision_language.classes(family)
    monkeypatch.setattr(head, "forward", head.forward)
    model = vision_language.model_of(family)
    fused = {"use_fused_kernels": True, "fused_kernels_backend": "torch"}
    monkey_patch.apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True, **fused)
    inputs = {**vision_language.batch("mixed"), "temperature": 0.9, "return_dict": True}
    found = model(**inputs)

    module, forwards = _forwards(family)
    monkeypatch.setattr(base, "forward", getattr(forwards, f"{module}_base_forward"))
    expected = model(**inputs)

    assert torch.equal(found.log_probs, expected.log_probs)
    assert torch.equal(found.entropy, expected.entropy)


@pytest.mark.parametrize("family", HYBRID or [pytest.param("", marks=_NONE)])
def test_fused_kernels_pass_no_boundaries_to_layers_that_find_them(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = vision_language.classes(family)[1]
    monkeypatch.setattr(head, "forward", head.forward)
    model = vision_language.model_of(family)
    assert not linear_attention.takes_boundaries(model)

    fused = {"use_fused_kernels": True, "fused_kernels_backend": "torch"}
    monkey_patch.apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True, **fused)
    assert not linear_attention.takes_boundaries(model)

    monkeypatch.setattr(linear_attention, "_HOOK", "transformers.integrations.no_such_module")
    assert linear_attention.takes_boundaries(model)


@pytest.mark.parametrize("family", HYBRID or [pytest.param("", marks=_NONE)])
def test_text_models_separate_packed_sequences_too(family: str) -> None:
    package = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    model_class = getattr(package, f"{vision_language.FAMILIES[family][0]}ForCausalLM")
    model = model_class(vision_language.model_of(family).config.text_config)
    told = importlib.import_module("transformers.integrations.packed_linear_attention")

    monkey_patch.apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=False)
    assert not told._separate
    monkey_patch.apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True)
    assert told._separate
