"""Linear attention over packed sequences: if switched on, each sequence is computed as if it were alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import Any

import pytest
import torch
from comparison import assert_close
from transformers.integrations import packed_linear_attention as packed
from transformers.integrations import ulysses

import vision_language

FAMILIES = ["qwen3_5", "qwen3_5_moe"]
LENGTHS = list(vision_language.LENGTHS)
Results = dict[str, torch.Tensor]


@pytest.fixture(autouse=True)
def _untold() -> Iterator[None]:
    yield
    packed.separate_packed_sequences(separate=False)
    ulysses.register_ulysses_group(None)


def _whole() -> dict[str, Any]:
    return vision_language.batch("text")


def _alone() -> list[dict[str, Any]]:
    """Return a batch for each of the sequences."""
    whole = _whole()
    ids, rows = (whole[name].split(LENGTHS, dim=-1) for name in ("input_ids", "position_ids"))
    return [{**whole, "input_ids": one, "position_ids": row} for one, row in zip(ids, rows, strict=True)]


def _on(device: str, inputs: dict[str, Any]) -> dict[str, Any]:
    return {name: one.to(device) if isinstance(one, torch.Tensor) else one for name, one in inputs.items()}


def _trained(model: Any, *batches: dict[str, Any]) -> Results:
    """Return the concatenated logits of batches, and the gradients of all of them together."""
    weights = torch.randn(1, sum(LENGTHS), vision_language.VOCABULARY, generator=torch.Generator().manual_seed(5))
    logits = torch.cat([model(**one).logits for one in batches], dim=1)
    (logits.float() * weights.to(logits.device)).sum().backward()
    gradients = {name: one.grad for name, one in model.named_parameters() if one.grad is not None}
    return {"logits": logits.detach(), **gradients}


def _layer(model: Any) -> Any:
    return model.model.language_model.layers[0].linear_attn


def _net(model: Any) -> Any:
    """Return the linear attention of a model's first layer with its functions, which modules hold from 5.15 on."""
    net = _layer(model)
    if hasattr(net, "chunk_gated_delta_rule"):
        return net
    wrapper = import_module("transformers.integrations.gated_delta_net").GatedDeltaNet
    return wrapper(net, sys.modules[type(net).__module__].torch_chunk_gated_delta_rule)


@pytest.mark.parametrize(
    ("device", "attention"),
    [
        ("cpu", "sdpa"),
        pytest.param("cpu", "eager", marks=pytest.mark.thorough),
        pytest.param("npu", "sdpa", marks=pytest.mark.thorough),
        ("npu", "flash_attention_2"),
    ],
)
@pytest.mark.parametrize("family", FAMILIES)
def test_packed_sequences_are_computed_as_each_alone(family: str, device: str, attention: str) -> None:
    dtype = torch.bfloat16 if attention == "flash_attention_2" else torch.float32

    def train(*batches: dict[str, Any]) -> Results:
        model = vision_language.model_of(family).to(dtype).to(device)
        model.config.text_config._attn_implementation = attention
        return _trained(model, *(_on(device, one) for one in batches))

    untold = train(_whole())
    packed.separate_packed_sequences()
    found, expected = train(_whole()), train(*_alone())

    assert found.keys() == expected.keys()
    assert any("linear_attn.conv1d" in name for name in found)
    for name, one in expected.items():
        # The same sums in another order.
        assert_close(found[name], one.cpu(), roundings=60)
    # Upstream carries the state of one sequence into the next, but none into the first.
    first = LENGTHS[0]
    assert_close(untold["logits"][:, :first], expected["logits"][:, :first].cpu(), roundings=60)
    assert (untold["logits"] - expected["logits"])[:, first:].abs().max() > 0.05


@pytest.mark.parametrize("family", FAMILIES)
def test_recomputed_layers_receive_lengths_too(family: str) -> None:
    packed.separate_packed_sequences()
    expected = _trained(vision_language.model_of(family), _whole())
    model = vision_language.model_of(family)
    model.gradient_checkpointing_enable({"use_reentrant": False})

    found = _trained(model, _whole())

    assert found.keys() == expected.keys()
    assert [name for name, one in expected.items() if not torch.equal(found[name], one)] == []


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["padded", "one sequence", "packed, and not told"])
def test_other_inputs_run_upstreams_code(family: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told = kind != "packed, and not told"
    inputs = {"padded": vision_language.padded("text"), "one sequence": _alone()[0]}.get(kind, _whole())
    model = vision_language.model_of(family)
    expected = model(**inputs).logits
    # Where the model's own module has it from.
    monkeypatch.setattr(sys.modules[type(model).__module__], "separated_gated_delta", lambda *_: pytest.fail("ours"))
    packed.separate_packed_sequences(separate=told)
    assert torch.equal(model(**inputs).logits, expected)
    packed.separate_packed_sequences()
    with pytest.raises(pytest.fail.Exception, match="ours"):
        model(**_whole())


def _convolve(
    *, x: torch.Tensor, weight: torch.Tensor, bias: None, activation: str, seq_idx: torch.Tensor | None
) -> torch.Tensor:
    """Convolve as the kernel does: by the sequences' numbers, in the layout that it requires."""
    assert (bias, activation, x.stride(1)) == (None, "silu", 1)
    numbers = torch.zeros(1, x.shape[-1], dtype=torch.int32) if seq_idx is None else seq_idx
    assert numbers.dtype == torch.int32
    width = weight.shape[1]
    found = torch.zeros_like(x)
    for place in range(x.shape[-1]):
        for back in range(min(width, place + 1)):
            if numbers[0, place] == numbers[0, place - back]:
                found[..., place] += weight[:, width - 1 - back] * x[..., place - back]
    return torch.nn.functional.silu(found)


def _kernel(net: Any) -> Any:
    plain = net.chunk_gated_delta_rule

    def rule(  # noqa: PLR0913  # the kernel's own parameters
        q: Any, k: Any, v: Any, *, g: Any, beta: Any, cu_seqlens: Any = None, **options: Any
    ) -> Any:
        assert options == {"initial_state": None, "output_final_state": False, "use_qk_l2norm_in_kernel": True}
        bounds = [0, q.shape[1]] if cu_seqlens is None else cu_seqlens.tolist()
        parts = [[one[:, start:end] for one in (q, k, v, g, beta)] for start, end in pairwise(bounds)]
        return torch.cat([plain(*three, g=g, beta=b, **options)[0] for *three, g, b in parts], dim=1), None

    return rule


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_kernels_receive_sequence_boundaries_once(lengths: list[int] | None) -> None:
    net = _net(vision_language.model_of("qwen3_5"))
    states = torch.randn(1, sum(LENGTHS), vision_language.HIDDEN, generator=torch.Generator().manual_seed(3))
    expected = packed.separated_gated_delta(net, states, None, None, lengths)
    net.causal_conv1d_fn, net.chunk_gated_delta_rule = _convolve, _kernel(net)
    assert_close(packed.separated_gated_delta(net, states, None, None, lengths), expected, roundings=20)


@pytest.mark.parametrize("rows", [1, 3])
def test_unpacked_rows_equal_upstreams_forward(rows: int) -> None:
    model = vision_language.model_of("qwen3_5")
    states = torch.randn(rows, 70, vision_language.HIDDEN, generator=torch.Generator().manual_seed(3))
    assert_close(packed.separated_gated_delta(_net(model), states, None, None, None), _layer(model)(states))


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        ([0, 1, 2, 0, 1], [3, 2]),
        ([0, 0, 0, 1], [1, 1, 2]),
        ([5, 6, 0, 1], [2, 2]),
        ([0, 1, 2, 3], None),
        ([3, 4], None),
    ],
)
def test_a_sequence_begins_where_its_position_is_0(positions: list[int], expected: list[int] | None) -> None:
    packed.separate_packed_sequences()
    row = torch.tensor([positions])
    rows = torch.stack([row, *[torch.zeros_like(row)] * 3])
    assert packed.packed_lengths(row, None, sliced=False) == expected
    assert packed.packed_lengths(row, None, sliced=True) == expected
    assert packed.packed_lengths(rows, None, sliced=False) == expected


def test_batches_padded_rows_and_rows_without_text_positions_have_no_packed_lengths() -> None:
    packed.separate_packed_sequences()
    row = torch.tensor([[0, 1, 0, 1]])
    assert packed.packed_lengths(row, None, sliced=False) == [2, 2]
    assert packed.packed_lengths(row.expand(2, -1), None, sliced=False) is None
    assert packed.packed_lengths(row.expand(4, 2, -1), None, sliced=False) is None
    assert packed.packed_lengths(row.expand(3, 1, -1), None, sliced=False) is None
    assert packed.packed_lengths(row, torch.tensor([[1, 1, 1, 0]]), sliced=False) is None
    assert packed.packed_lengths(row, torch.ones(1, 4), sliced=False) == [2, 2]
    assert packed.packed_lengths(None, None, sliced=False) is None
    packed.separate_packed_sequences(separate=False)
    assert packed.packed_lengths(row, None, sliced=False) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "ulysses_group", lambda: "of several ranks")
        assert packed.packed_lengths(row, None, sliced=False) == [2, 2]


def test_a_layer_passes_lengths_on_only_if_it_received_them() -> None:
    assert packed.packed_length_arguments({"use_cache": False}) == {}
    assert packed.packed_length_arguments({"use_cache": False, "packed_lengths": [1, 2]}) == {"packed_lengths": [1, 2]}


def test_without_a_group_the_convolution_module_itself_runs() -> None:
    net = _net(vision_language.model_of("qwen3_5"))
    seen: list[int] = []
    net.conv1d.register_forward_hook(lambda _module, given, _output: seen.append(given[0].shape[-1]))
    packed.separated_gated_delta(net, torch.zeros(1, sum(LENGTHS), vision_language.HIDDEN), None, None, LENGTHS)
    assert seen == LENGTHS


def test_a_cache_is_refused() -> None:
    packed.separate_packed_sequences()
    with pytest.raises(NotImplementedError, match="pass use_cache=False"):
        vision_language.model_of("qwen3_5")(**{**_whole(), "use_cache": True})


def test_ranks_that_cannot_share_the_heads_are_refused() -> None:
    class Group:
        """Of three ranks, as far as it is asked."""

        def size(self) -> int:
            return 3

    net = _net(vision_language.model_of("qwen3_5"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packed, "ulysses_group", Group)
        with pytest.raises(ValueError, match="2 key heads of linear attention cannot be shared evenly by 3 ranks"):
            packed.separated_gated_delta(net, torch.zeros(1, 2, vision_language.HIDDEN), None, None, None)
