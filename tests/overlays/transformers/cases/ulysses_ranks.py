"""Ulysses on several ranks: each holds a slice, and together they must compute what one process computes.

Run with the number of ranks; it starts them, and fails if any of their checks fails. Flash attention itself runs on
CPU here (gloo carries CPU tensors), by the code that plays the NPU's operator.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed as dist
import transformers
from comparison import assert_close
from packaging import version
from torch import multiprocessing, nn

from emulation.attention import Options, attend

LENGTHS = (5, 2, 9)
TOTAL = sum(LENGTHS)


def _cpu_flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool, softmax_scale: float | None, **_: Any
) -> torch.Tensor:
    return attend(q, k, v, _options(q, "BSND", 2, causal=causal, scale=softmax_scale))


def _cpu_flash_varlen(  # noqa: PLR0913  # flash-attn's own parameters
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    causal: bool,
    softmax_scale: float | None,
    **_: Any,
) -> torch.Tensor:
    ends = (cu_seqlens_q[1:].tolist(), cu_seqlens_k[1:].tolist())
    return attend(q, k, v, _options(q, "TND", 1, causal=causal, scale=softmax_scale, ends=ends))


def _options(  # noqa: PLR0913  # what the operator wants to know
    q: torch.Tensor, layout: str, heads: int, *, causal: bool, scale: float | None, ends: tuple[Any, Any] = (None, None)
) -> Options:
    return Options(
        layout=layout,
        heads=q.shape[heads],
        scale=scale or q.shape[-1] ** -0.5,
        keep_prob=1.0,
        before=0,
        after=0,
        mode=3,
        mask=torch.ones(2048, 2048).triu(1).bool() if causal else None,
        ends_q=ends[0],
        ends_k=ends[1],
    )


def _use_cpu_flash() -> None:
    """Put the CPU functions where transformers keeps the flash attention functions it has found."""
    from transformers import modeling_flash_attention_utils as utils  # noqa: PLC0415

    utils._flash_fn, utils._flash_varlen_fn = _cpu_flash, _cpu_flash_varlen
    # From 5 on, the functions belong to the implementation that was requested last.
    utils._loaded_implementation = "flash_attention_2"
    utils._pad_fn, utils._unpad_fn = utils._pad_input, utils._unpad_input
    utils._process_flash_kwargs_fn = utils._lazy_define_process_function(_cpu_flash_varlen)


def _positions() -> torch.Tensor:
    return torch.cat([torch.arange(length) for length in LENGTHS]).unsqueeze(0)


def _sizes() -> dict[str, Any]:
    return {
        "vocab_size": 67,
        "hidden_size": 32,
        "intermediate_size": 44,
        "num_hidden_layers": 2,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
    }


def _text_model() -> nn.Module:
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    model: nn.Module = Qwen2ForCausalLM(Qwen2Config(**_sizes(), attn_implementation="eager"))
    return model


def _vision_language_model() -> nn.Module:
    from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLTextConfig  # noqa: PLC0415
    from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel  # noqa: PLC0415

    rope = {"rope_scaling": {"type": "mrope", "mrope_section": [0, 1, 1]}}
    model: nn.Module = Qwen2_5_VLTextModel(Qwen2_5_VLTextConfig(**_sizes(), **rope, attn_implementation="eager"))
    return model


def _deepstack_model() -> nn.Module:
    from transformers.models.qwen3_vl.configuration_qwen3_vl import Qwen3VLTextConfig  # noqa: PLC0415
    from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLTextModel  # noqa: PLC0415

    rope = {"rope_scaling": {"rope_type": "default", "mrope_section": [2, 1, 1]}, "head_dim": 8}
    model: nn.Module = Qwen3VLTextModel(Qwen3VLTextConfig(**_sizes(), **rope, attn_implementation="eager"))
    return model


def _glm() -> nn.Module:
    from transformers.models.glm4v.configuration_glm4v import Glm4vTextConfig  # noqa: PLC0415
    from transformers.models.glm4v.modeling_glm4v import Glm4vTextModel  # noqa: PLC0415

    rope = {"rope_scaling": {"rope_type": "default", "mrope_section": [0, 1, 1]}}
    chosen = {**_sizes(), **rope, "pad_token_id": 0}
    model: nn.Module = Glm4vTextModel(Glm4vTextConfig(**chosen, attn_implementation="eager"))
    return model


def _hybrid() -> nn.Module:
    from transformers.models.qwen3_5.configuration_qwen3_5 import Qwen3_5TextConfig  # noqa: PLC0415
    from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5TextModel  # noqa: PLC0415

    chosen = {
        **_sizes(),
        "head_dim": 32,
        "layer_types": ["linear_attention", "full_attention"],
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 4,
        "linear_value_head_dim": 8,
        "linear_num_key_heads": 4,
        "linear_num_value_heads": 8,
        "partial_rotary_factor": 0.25,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]},
    }
    model: nn.Module = Qwen3_5TextModel(Qwen3_5TextConfig(**chosen, attn_implementation="eager"))
    return model


def _of_type(name: str, **chosen: Any) -> nn.Module:
    """Return the model under transformers' heads, made from a type of model."""
    from transformers import AutoConfig, AutoModel  # noqa: PLC0415

    config = AutoConfig.for_model(name, **_sizes(), pad_token_id=0, **chosen)
    model: nn.Module = AutoModel.from_config(config, attn_implementation="eager")
    return model


def _tower() -> SimpleNamespace:
    """Return a stub of a vision tower's layer."""
    from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig  # noqa: PLC0415

    return SimpleNamespace(config=Qwen2_5_VLVisionConfig())


def _layer() -> SimpleNamespace:
    """Return a stub of a text model's layer."""
    return SimpleNamespace(config=_text_model().config)


Build = Callable[[], nn.Module]


def _built(build: Build) -> nn.Module:
    torch.manual_seed(3)
    model = build()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    # Loading refuses flash attention on CPU; here it has functions to run.
    model.config._attn_implementation = "flash_attention_2"
    return model


def _shared(build: Build) -> nn.Module:
    """Return a model whose sequences all ranks share."""
    from transformers.integrations.ulysses_models import share_sequences  # noqa: PLC0415

    model = _built(build)
    share_sequences(model, lambda: dist.group.WORLD)
    return model


def _train(model: nn.Module, inputs: dict[str, Any], weight: torch.Tensor) -> torch.Tensor:
    output = model(**inputs, use_cache=False)[0]
    (output * weight).sum().backward()
    return output.detach()


def _check_model(  # noqa: PLR0913, PLR0917  # what there is to compare
    rank: int, ranks: int, build: Build, whole: dict[str, Any], slices: dict[str, Any], width: int
) -> None:
    from transformers.integrations.ulysses import register_ulysses_group  # noqa: PLC0415

    weight = torch.randn(1, TOTAL, width, generator=torch.Generator().manual_seed(5))
    alone = _built(build)
    register_ulysses_group(None)
    expected = _train(alone, whole, weight)
    shared = _shared(build)
    actual = _train(shared, slices, weight.chunk(ranks, dim=1)[rank])
    register_ulysses_group(None)
    assert_close(actual, expected.chunk(ranks, dim=1)[rank])
    for (name, parameter), other in zip(shared.named_parameters(), alone.parameters(), strict=True):
        if other.grad is None:
            assert parameter.grad is None, name
            continue
        dist.all_reduce(parameter.grad)
        assert_close(parameter.grad, other.grad, roundings=20)


def _check_text(rank: int, ranks: int) -> None:
    ids = torch.randint(67, (1, TOTAL), generator=torch.Generator().manual_seed(1))
    tokens = {"input_ids": ids, "position_ids": _positions()}
    for whole in (tokens, {**tokens, "attention_mask": torch.ones_like(ids)}):
        slices = {name: tensor.chunk(ranks, dim=-1)[rank] for name, tensor in whole.items()}
        _check_model(rank, ranks, _text_model, whole, slices, 67)


def _check_vision_language(rank: int, ranks: int) -> None:
    # Each rank has all embeddings, since images were inserted into them; the model slices them.
    embeddings = torch.randn(1, TOTAL, 32, generator=torch.Generator().manual_seed(1))
    whole = {"inputs_embeds": embeddings, "position_ids": _positions().unsqueeze(0).expand(4, 1, TOTAL).contiguous()}
    masked = {**whole, "attention_mask": torch.ones(1, TOTAL, dtype=torch.long)}
    _check_model(rank, ranks, _vision_language_model, whole, whole, 32)
    _check_model(rank, ranks, _vision_language_model, masked, masked, 32)


def _check_glm(rank: int, ranks: int) -> None:
    embeddings = torch.randn(1, TOTAL, 32, generator=torch.Generator().manual_seed(1))
    whole = {"inputs_embeds": embeddings, "position_ids": _positions().unsqueeze(0).expand(4, 1, TOTAL).contiguous()}
    _check_model(rank, ranks, _glm, whole, whole, 32)


def _check_deepstack(rank: int, ranks: int) -> None:
    """Image features are added between layers: each rank adds those in its slice; one rank has none."""
    generator = torch.Generator().manual_seed(1)
    marks = torch.zeros(1, TOTAL, dtype=torch.bool)
    marks[0, [1, 2, 3, 9, 14, 15]] = True
    whole = {
        "inputs_embeds": torch.randn(1, TOTAL, 32, generator=generator),
        "position_ids": _positions().unsqueeze(0).expand(4, 1, TOTAL).contiguous(),
        "visual_pos_masks": marks,
        "deepstack_visual_embeds": [torch.randn(6, 32, generator=generator) for _ in range(2)],
    }
    assert any(not part.any() for part in marks.chunk(ranks, dim=1))
    _check_model(rank, ranks, _deepstack_model, whole, whole, 32)


def _check_hybrid(rank: int, ranks: int) -> None:
    """Linear attention with heads shared by ranks: packed sequences and a single one, sliced here or before."""
    from transformers.integrations.packed_linear_attention import separate_packed_sequences  # noqa: PLC0415

    generator = torch.Generator().manual_seed(1)
    embeddings = torch.randn(1, TOTAL, 32, generator=generator)
    ids = torch.randint(67, (1, TOTAL), generator=generator)
    for positions, told in ((_positions(), True), (torch.arange(TOTAL).unsqueeze(0), False)):
        separate_packed_sequences(separate=told)
        whole = {"inputs_embeds": embeddings, "position_ids": positions.unsqueeze(0).expand(4, 1, TOTAL).contiguous()}
        tokens = {"input_ids": ids, "position_ids": positions}
        slices = {name: tensor.chunk(ranks, dim=-1)[rank] for name, tensor in tokens.items()}
        _check_model(rank, ranks, _hybrid, whole, whole, 32)
        _check_model(rank, ranks, _hybrid, tokens, slices, 32)
    separate_packed_sequences(separate=False)


def _check_marked(rank: int, ranks: int) -> None:
    """Of several sequences, each rank keeps the marked positions in its slice of each."""
    from transformers.integrations.ulysses import register_ulysses_group, ulysses_slice_marked  # noqa: PLC0415

    marks = torch.rand(3, 2 * ranks, generator=torch.Generator().manual_seed(2)) < 0.6
    places = torch.arange(marks.numel()).view(marks.shape)
    rows = places[marks].float().unsqueeze(-1).requires_grad_()
    assert ulysses_slice_marked(rows, marks) is rows
    register_ulysses_group(lambda: dist.group.WORLD)
    mine = ulysses_slice_marked(rows, marks)
    register_ulysses_group(None)
    wanted = places.chunk(ranks, dim=1)[rank][marks.chunk(ranks, dim=1)[rank]]
    assert mine.squeeze(-1).tolist() == wanted.tolist()
    mine.sum().backward()
    assert rows.grad is not None
    assert rows.grad.sum() == len(wanted)


def _check_heads(rank: int, ranks: int) -> None:
    """Fewer key-value heads than ranks, as many, and more."""
    from transformers.integrations.ulysses import register_ulysses_group, ulysses_attention  # noqa: PLC0415

    register_ulysses_group(lambda: dist.group.WORLD)
    generator = torch.Generator().manual_seed(7)
    for key_heads in (1, 2, 4, 8):
        q = torch.randn(2, 8, 8, 4, generator=generator)
        k = torch.randn(2, 8, key_heads, 4, generator=generator)

        def attention(
            q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: None, length: int, **options: Any
        ) -> torch.Tensor:
            assert mask is None
            assert q.shape[1] == length == options["position_ids"].shape[1] == 8
            assert q.shape[2] * ranks == 8
            return _cpu_flash(q, k, v, causal=options["is_causal"], softmax_scale=None)

        expected = _cpu_flash(q, k, k, causal=True, softmax_scale=None)
        mine = [tensor.chunk(ranks, dim=1)[rank] for tensor in (q, k, k)]
        actual = ulysses_attention(
            attention, _layer(), *mine, None, 8 // ranks, is_causal=True, position_ids=torch.zeros(2, 8 // ranks)
        )
        assert_close(actual, expected.chunk(ranks, dim=1)[rank])
    register_ulysses_group(None)


def _check_refusals(ranks: int) -> None:
    from transformers.integrations import ulysses  # noqa: PLC0415

    register_ulysses_group, ulysses_attention = ulysses.register_ulysses_group, ulysses.ulysses_attention

    def attention(query: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
        return query

    q, odd = torch.randn(1, 4, 8, 4), torch.randn(1, 4, 3, 4)
    register_ulysses_group(lambda: dist.group.WORLD)
    # A vision tower, with positions or without: every rank has the whole input.
    tower = partial(ulysses_attention, attention, _tower(), q, q, q, None, 4, is_causal=False)
    assert tower() is tower(position_ids=torch.arange(4).unsqueeze(0)) is q
    attend = partial(ulysses_attention, attention, _layer())
    told = partial(attend, is_causal=True, position_ids=torch.arange(4).unsqueeze(0))
    cached = torch.randn(1, 5, 8, 4)
    _expect(
        [
            (ValueError, "position_ids", partial(attend, q, q, q, None, 4, is_causal=True)),
            (NotImplementedError, "encoders", partial(attend, q, q, q, None, 4, is_causal=False)),
            (NotImplementedError, "share_sequences", partial(told, q, q, q, torch.ones(1, 4), 4)),
            (ValueError, "heads", partial(told, q, odd, odd, None, 4)),
            (NotImplementedError, "5 keys for 4 queries", partial(told, q, cached, cached, None, 4)),
            (NotImplementedError, "sinks", partial(told, q, q, q, None, 4, s_aux=q)),
            (ValueError, "pad it", lambda: ulysses.ulysses_slice(torch.zeros(1, ranks + 1), 1)),
        ]
    )
    register_ulysses_group(None)


def _expect(calls: list[tuple[type[Exception], str, Callable[[], Any]]]) -> None:
    for error, message, call in calls:
        try:
            call()
        except error as caught:
            assert message in str(caught), caught  # noqa: PT017  # no pytest in the ranks
        else:
            raise AssertionError(f"no {error.__name__} about {message}")


def _attending_with(build: Build, implementation: str) -> nn.Module:
    """Return a model whose attention changed after share_sequences."""
    model = _shared(build)
    model.config._attn_implementation = implementation
    return model


def _check_what_is_not_exchanged(rank: int, ranks: int) -> None:
    """Other attention, and padding on one rank only, raise an error on every rank, so that none waits for another."""
    from transformers.integrations.ulysses import register_ulysses_group  # noqa: PLC0415

    ids, positions = torch.ones(1, TOTAL, dtype=torch.long), torch.arange(TOTAL).unsqueeze(0)
    tokens = {"input_ids": ids, "position_ids": positions}
    slices = {name: tensor.chunk(ranks, dim=-1)[rank] for name, tensor in tokens.items()}
    whole = {"inputs_embeds": torch.zeros(1, TOTAL, 32), "position_ids": positions.expand(4, 1, TOTAL).contiguous()}
    calls: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (NotImplementedError, f"'{name}'", partial(_attending_with(build, name), **inputs))
        for name in ("sdpa", "eager")
        for build, inputs in ((_text_model, slices), (_vision_language_model, whole))
    ]
    packages = {"qwen3_vl": _deepstack_model, "qwen3_5": _hybrid}
    slicing = [build for name, build in packages.items() if find_spec(f"transformers.models.{name}")]
    for place in (0, TOTAL - 1):
        mask = torch.ones(1, TOTAL, dtype=torch.long)
        mask[0, place] = 0
        for build in (_vision_language_model, _glm, *slicing):
            calls.append((NotImplementedError, "padding", partial(_shared(build), **whole, attention_mask=mask)))
        for build in (_text_model, *({_hybrid} & {*slicing})):
            part = mask.chunk(ranks, dim=-1)[rank]
            calls.append((NotImplementedError, "padding", partial(_shared(build), **slices, attention_mask=part)))
    ones = torch.ones(1, 1, TOTAL)
    calls.append((NotImplementedError, "padding", partial(_shared(_text_model), **slices, attention_mask=ones)))
    calls.append((NotImplementedError, "padding", partial(_shared(_text_model), slices["input_ids"], ones, positions)))
    # Without positions, each rank would count from 0.
    embeddings = whole["inputs_embeds"]
    calls.append((ValueError, "position_ids", partial(_shared(_text_model), slices["input_ids"])))
    calls.append((ValueError, "position_ids", partial(_shared(_vision_language_model), inputs_embeds=embeddings)))
    register_ulysses_group(lambda: dist.group.WORLD)
    _expect(calls)
    register_ulysses_group(None)


def _check_other_models(rank: int, ranks: int) -> None:
    """Models other than decoders with shared attention: every rank refuses them, or results are right."""
    from transformers.integrations.ulysses import register_ulysses_group  # noqa: PLC0415

    ids, positions = torch.ones(1, TOTAL, dtype=torch.long), torch.arange(TOTAL).unsqueeze(0)
    tokens = {"input_ids": ids, "position_ids": positions}
    slices = {name: tensor.chunk(ranks, dim=-1)[rank] for name, tensor in tokens.items()}
    padded = {**slices, "attention_mask": torch.ones_like(slices["input_ids"])}
    padded["attention_mask"][0, 0] = int(rank > 0)
    refused = {"stablelm": "StableLmModel does not declare", "falcon_h1": "FalconH1Model"}
    if find_spec("transformers.models.lfm2"):
        refused["lfm2"] = "conv"
    if find_spec("transformers.models.qwen3_next"):
        refused["qwen3_next"] = "linear_attention"
    chosen: dict[str, dict[str, Any]] = {
        "lfm2": {"layer_types": ["conv", "full_attention"]},
        "qwen3_next": {"num_experts": 4},
    }
    attending = ["bert", "qwen2_moe"]
    if version.parse(transformers.__version__).major < 5:  # from then on they attend as all do
        refused |= dict.fromkeys((*attending, "olmoe"), "does not declare")
        attending = []
    calls: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (NotImplementedError, message, partial(_shared, partial(_of_type, name, **chosen.get(name, {}))))
        for name, message in refused.items()
    ]
    for other in ("sdpa", "eager"):
        builds = [_bidirectional, *(partial(_of_type, name) for name in attending)]
        calls += [
            (NotImplementedError, f"'{other}'", partial(_attending_with(build, other), **slices)) for build in builds
        ]
    calls.append((NotImplementedError, "padding", partial(_shared(_bidirectional), **padded)))
    register_ulysses_group(lambda: dist.group.WORLD)
    _expect(calls)
    register_ulysses_group(None)
    _check_model(rank, ranks, _bidirectional, tokens, slices, 32)


def _bidirectional() -> nn.Module:
    return _of_type("qwen2", is_causal=False)


def _check_attention() -> None:
    """Kernels from the Hub run in transformers' own function and exchange slices; another function does not."""
    from transformers.integrations.flash_attention import flash_attention_forward  # noqa: PLC0415
    from transformers.integrations.ulysses import register_ulysses_group  # noqa: PLC0415
    from transformers.integrations.ulysses_models import share_sequences, ulysses_arguments  # noqa: PLC0415
    from transformers.modeling_utils import AttentionInterface  # noqa: PLC0415

    AttentionInterface.register("hub/kernel", partial(flash_attention_forward, implementation=None))
    AttentionInterface.register("hub/other", _cpu_flash)
    AttentionInterface.register("flash_attention_mine", _cpu_flash)

    def share(implementation: str | None) -> nn.Module:
        model = _text_model()
        model.config._attn_implementation = implementation
        share_sequences(model, lambda: dist.group.WORLD)
        return model

    given = ("ids",), {"position_ids": "positions"}
    assert [ulysses_arguments(share(name), *given) for name in ("hub/kernel", "flash_attention_3")] == [given] * 2
    others = ("hub/other", "flash_attention_mine", "paged|hub/kernel", "sdpa", "eager", None)
    _expect([(NotImplementedError, repr(name), partial(share, name)) for name in others])
    register_ulysses_group(None)
    model = _attending_with(_text_model, "hub/other")
    register_ulysses_group(None)
    assert ulysses_arguments(model, *given) == given


def _check_what_it_is_called_with() -> None:
    """Labels, whose shift needs another rank's, and dicts of masks, which models pass to inner models."""
    from transformers.integrations.ulysses import register_ulysses_group  # noqa: PLC0415
    from transformers.integrations.ulysses_models import ulysses_arguments  # noqa: PLC0415

    ask = partial(ulysses_arguments, _shared(_text_model), ())
    told: dict[str, Any] = {"position_ids": "positions", "attention_mask": {"full_attention": None}}
    assert ask(told) == ((), told)
    moved = {**told, "labels": "labels", "shift_labels": "labels"}
    assert ask(moved) == ((), moved)
    masked = {**told, "attention_mask": {"full_attention": torch.ones(1, 4)}}
    _expect(
        [
            (NotImplementedError, "labels", partial(ask, {**told, "labels": "labels"})),
            (NotImplementedError, "padding", partial(ask, masked)),
        ]
    )
    register_ulysses_group(None)


def _check_measuring_models() -> None:
    """Heads and rotary embeddings that depend on whole sequences."""
    from transformers import AutoModelForQuestionAnswering, Qwen2ForSequenceClassification  # noqa: PLC0415

    class Mine(Qwen2ForSequenceClassification):  # type: ignore[misc]  # transformers is Any here
        pass

    def with_rope(**rope: Any) -> nn.Module:
        model = _text_model()
        model.config.rope_scaling = None
        model.config.rope_parameters = rope
        return model

    heads = (
        lambda: Mine(_text_model().config),
        lambda: AutoModelForQuestionAnswering.from_config(_text_model().config, attn_implementation="eager"),
    )
    ropes = ({"rope_type": "dynamic"}, {"type": "longrope"}, {"full_attention": {"rope_type": "longrope"}})
    _expect(
        [
            *((NotImplementedError, "needs whole sequences", partial(_shared, build)) for build in heads),
            *((NotImplementedError, "rotary", partial(_shared, partial(with_rope, **rope))) for rope in ropes),
        ]
    )


def _check_who_is_asked() -> None:
    """Each text model is checked once, inside any wrapper; vision towers are not; a refusal registers nothing."""
    from transformers.integrations.ulysses import register_ulysses_group, ulysses_group  # noqa: PLC0415
    from transformers.integrations.ulysses_models import share_sequences  # noqa: PLC0415
    from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as vision  # noqa: PLC0415
    from transformers.models.qwen2_5_vl.configuration_qwen2_5_vl import Qwen2_5_VLVisionConfig  # noqa: PLC0415

    small = {"depth": 1, "hidden_size": 8, "intermediate_size": 8, "num_heads": 2, "out_hidden_size": 8}
    tower = vision.Qwen2_5_VisionTransformerPretrainedModel(Qwen2_5_VLVisionConfig(**small))
    text, other = _built(_text_model), _built(partial(_of_type, "stablelm"))

    def share(*models: nn.Module) -> None:
        share_sequences(nn.ModuleList(models), lambda: dist.group.WORLD)

    _expect([(NotImplementedError, "StableLmModel", partial(share, text, other))])
    assert ulysses_group() is None
    assert [len(one._forward_pre_hooks) for one in (text, text.model)] == [0, 0]
    share(tower, text)
    share(text)
    assert [len(one._forward_pre_hooks) for one in (tower, text, text.model)] == [0, 1, 1]
    register_ulysses_group(None)


def _run_rank(rank: int, ranks: int, rendezvous: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    _use_cpu_flash()
    _check_heads(rank, ranks)
    _check_refusals(ranks)
    _check_what_is_not_exchanged(rank, ranks)
    _check_other_models(rank, ranks)
    _check_attention()
    _check_what_it_is_called_with()
    _check_measuring_models()
    _check_who_is_asked()
    _check_text(rank, ranks)
    _check_vision_language(rank, ranks)
    _check_glm(rank, ranks)
    _check_marked(rank, ranks)
    if find_spec("transformers.models.qwen3_vl"):
        _check_deepstack(rank, ranks)
    if find_spec("transformers.integrations.packed_linear_attention"):
        _check_hybrid(rank, ranks)
    dist.barrier()
    dist.destroy_process_group()
    # All checks are done; on an ordinary exit, gloo's threads sometimes abort the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    number = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_run_rank, args=(number, str(Path(folder) / "rendezvous")), nprocs=number)
