"""Vision towers: if switched on, they always run and affect only the tower's gradients; else only for images."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from transformers.integrations import vision_towers

import vision_language

FAMILIES = vision_language.families()


@pytest.fixture(autouse=True)
def _untold() -> Iterator[None]:
    yield
    vision_towers.always_run_vision_towers(always=False)


def _inputs(kind: str) -> dict[str, Any]:
    """Return a padded batch with the rows of positions that every transformers takes."""
    inputs = vision_language.padded(kind)
    return {**inputs, "position_ids": inputs["position_ids"][1:]}


def _train(family: str, inputs: dict[str, Any], *, always: bool) -> tuple[dict[str, Any], int]:
    """Return the output and how often the tower ran."""
    vision_towers.always_run_vision_towers(always=always)
    model = vision_language.model_of(family)
    runs: list[int] = []
    model.model.visual.register_forward_hook(lambda *_: runs.append(1))
    return vision_language.trained(model, inputs), len(runs)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_images_the_tower_runs_and_its_gradients_are_zero(family: str) -> None:
    expected, without = _train(family, _inputs("text"), always=False)
    found, runs = _train(family, _inputs("text"), always=True)

    tower = {name for name in found if ".visual." in name}
    assert (without, runs) == (0, 1)
    assert [name for name in tower if expected[name] is not None] == []
    assert [name for name in tower if found[name] is None or found[name].any()] == []
    # What comes first, a head may record otherwise where towers always run.
    others = found.keys() - tower - {"hidden"}
    assert [name for name in others if not torch.equal(found[name], expected[name])] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_with_images_the_tower_runs_once_and_results_are_unchanged(family: str) -> None:
    expected, without = _train(family, _inputs("mixed"), always=False)
    found, runs = _train(family, _inputs("mixed"), always=True)

    assert without == runs == 1
    assert [name for name, one in found.items() if name != "hidden" and not torch.equal(one, expected[name])] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_if_towers_always_run_the_last_hidden_state_is_normalized(family: str) -> None:
    vision_towers.always_run_vision_towers()
    model = vision_language.model_of(family)
    normed: list[torch.Tensor] = []
    model.model.language_model.norm.register_forward_hook(lambda _module, _inputs, output: normed.append(output))

    output = model(**_inputs("text"), output_hidden_states=True)

    assert torch.equal(output.hidden_states[-1], normed[-1])
    assert torch.equal(output.logits, model.lm_head(normed[-1]))
    assert "last_hidden_state" not in output


def test_given_embeddings_are_used_unchanged() -> None:
    vision_towers.always_run_vision_towers()
    model = vision_language.model_of(FAMILIES[0])
    model.model.visual.register_forward_hook(lambda *_: pytest.fail("the tower ran"))
    inputs = _inputs("text")
    embeddings = model.get_input_embeddings()(inputs.pop("input_ids"))

    assert model(inputs_embeds=embeddings, **inputs).logits.requires_grad


@pytest.mark.parametrize("family", FAMILIES)
def test_on_npu_and_in_half_precision_it_runs_where_the_model_is(family: str) -> None:
    vision_towers.always_run_vision_towers()
    model = vision_language.model_of(family, "eager").to(torch.bfloat16).to("npu")
    # A tower with its own dtype, as under some sharding.
    model.model.visual.float()
    inputs = {name: one.to("npu") if isinstance(one, torch.Tensor) else one for name, one in _inputs("text").items()}

    logits = model(**inputs).logits
    logits.float().sum().backward()

    assert logits.dtype == torch.bfloat16
    gradients = [one.grad for one in model.model.visual.parameters()]
    assert all(one is not None and one.dtype == torch.float32 and not one.any() for one in gradients)


@pytest.mark.parametrize("family", FAMILIES)
def test_positions_in_offloaded_weights_are_looked_up_on_the_images_device(family: str) -> None:
    tower = vision_language.model_of(family, "eager").model.visual.to("npu")
    if not family.startswith("qwen3"):  # it has no weights for that, or asks the images' device already
        assert not hasattr(tower, "fast_pos_embed_interpolate")
        assert type(tower).__name__ not in vision_towers.SERVED_TOWERS
        return
    inputs = (torch.randn(8, vision_language.VALUES).to("npu"), torch.tensor([[1, 2, 4]]).to("npu"))
    expected = tower(*inputs)
    assert type(tower).__name__ in vision_towers.SERVED_TOWERS

    seen: list[str] = []
    tower.pos_embed.to("cpu")
    # Like sharded parameters, which stay on the host until the module is called.
    tower.pos_embed.register_forward_pre_hook(lambda module, _: module.to("npu") and None)
    tower.pos_embed.register_forward_pre_hook(lambda _, given: seen.append(given[0].device.type))
    found = tower(*inputs)

    assert seen == ["npu"]
    for one, other in zip(_tensors(found), _tensors(expected), strict=True):
        assert torch.equal(one.cpu(), other.cpu())


def _tensors(output: Any) -> list[torch.Tensor]:
    return list(vision_towers._features(output))
