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
from comparison import assert_close
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
    # From 5 on the functions are those of the implementation that was asked for last.
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


def _next() -> nn.Module:
    """Return linear attention that is not split over ranks."""
    from transformers.models.qwen3_next.configuration_qwen3_next import Qwen3NextConfig  # noqa: PLC0415
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet  # noqa: PLC0415

    net: nn.Module = Qwen3NextGatedDeltaNet(Qwen3NextConfig(**_sizes()), 0)
    return net


Build = Callable[[], nn.Module]


def _built(build: Build) -> nn.Module:
    torch.manual_seed(3)
    model = build()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.2)
    # Loading refuses flash attention on CPU; here it has functions to run.
    model.config._attn_implementation = "flash_attention_2"
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
    shared = _built(build)
    register_ulysses_group(lambda: dist.group.WORLD)
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
    # Everyone has all embeddings, as images have been put into them; the model takes its own slice.
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
    """Features of images are added between layers: each rank adds those in its slice, of which one rank has none."""
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
    """Linear attention, of whose heads each rank has some: packed, told so, and one sequence; sliced here or before."""
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
    """Of several sequences, each rank has the marked places of its slice of every one."""
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
    """Fewer key-value heads than ranks, as many, and more; with padding, without causality."""
    from transformers.integrations.ulysses import register_ulysses_group, ulysses_attention  # noqa: PLC0415

    register_ulysses_group(lambda: dist.group.WORLD)
    generator = torch.Generator().manual_seed(7)
    for key_heads in (1, 2, 4, 8):
        q = torch.randn(2, 8, 8, 4, generator=generator)
        k = torch.randn(2, 8, key_heads, 4, generator=generator)
        mask = torch.ones(2, 8)

        def attention(
            q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor, length: int, **options: Any
        ) -> torch.Tensor:
            assert q.shape[1] == length == mask.shape[1] == options["position_ids"].shape[1] == 8
            assert q.shape[2] * ranks == 8
            return _cpu_flash(q, k, v, causal=options["is_causal"], softmax_scale=None)

        expected = _cpu_flash(q, k, k, causal=True, softmax_scale=None)
        mine = [tensor.chunk(ranks, dim=1)[rank] for tensor in (q, k, k, mask)]
        actual = ulysses_attention(
            attention, *mine, 8 // ranks, is_causal=True, position_ids=torch.zeros(2, 8 // ranks)
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
    # A vision tower: no positions, every rank has everything.
    assert ulysses_attention(attention, q, q, q, None, 4, is_causal=False) is q
    positions = torch.arange(4).unsqueeze(0)
    calls: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (ValueError, "position_ids", lambda: ulysses_attention(attention, q, q, q, None, 4, is_causal=True)),
        (
            ValueError,
            "heads",
            lambda: ulysses_attention(attention, q, odd, odd, None, 4, is_causal=True, position_ids=positions),
        ),
        (
            NotImplementedError,
            "sinks",
            lambda: ulysses_attention(attention, q, q, q, None, 4, is_causal=True, position_ids=positions, s_aux=q),
        ),
        (ValueError, "pad it", lambda: ulysses.ulysses_slice(torch.zeros(1, ranks + 1), 1)),
        (ValueError, "position_ids", lambda: _vision_language_model()(inputs_embeds=torch.zeros(1, ranks, 32))),
    ]
    if find_spec("transformers.models.qwen3_next"):
        calls.append((NotImplementedError, "linear attention of Qwen3-Next", lambda: _next()(torch.zeros(1, 2, 32))))
    _expect(calls)
    register_ulysses_group(None)
    assert ulysses.ulysses_slice_positions(None) is None


def _expect(calls: list[tuple[type[Exception], str, Callable[[], Any]]]) -> None:
    for error, message, call in calls:
        try:
            call()
        except error as caught:
            assert message in str(caught), caught  # noqa: PT017  # no pytest in the ranks
        else:
            raise AssertionError(f"no {error.__name__} about {message}")


def _attending_with(build: Build, implementation: str) -> nn.Module:
    """Return a model whose attention is another one than it was when it was made."""
    model = _built(build)
    model.config._attn_implementation = implementation
    return model


def _check_what_is_not_exchanged(rank: int, ranks: int) -> None:
    """Other attention, and padding though one rank alone has it: an error on every rank, and none waits for another."""
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
            calls.append((NotImplementedError, "padding", partial(_built(build), **whole, attention_mask=mask)))
        for build in (_text_model, *({_hybrid} & {*slicing})):
            part = mask.chunk(ranks, dim=-1)[rank]
            calls.append((NotImplementedError, "padding", partial(_built(build), **slices, attention_mask=part)))
    ones = torch.ones(1, 1, TOTAL)
    calls.append((NotImplementedError, "padding", partial(_built(_text_model), **slices, attention_mask=ones)))
    register_ulysses_group(lambda: dist.group.WORLD)
    _expect(calls)
    register_ulysses_group(None)


def _check_registered() -> None:
    """Kernels from the Hub go through transformers' own function, and exchange; another function does not."""
    from transformers.integrations import ulysses_masks  # noqa: PLC0415
    from transformers.integrations.flash_attention import flash_attention_forward  # noqa: PLC0415
    from transformers.integrations.ulysses import register_ulysses_group  # noqa: PLC0415
    from transformers.modeling_utils import AttentionInterface  # noqa: PLC0415

    AttentionInterface.register("hub/kernel", partial(flash_attention_forward, implementation=None))
    AttentionInterface.register("hub/other", _cpu_flash)

    def ask(implementation: str | None) -> Any:
        config = SimpleNamespace(_attn_implementation=implementation)
        return ulysses_masks.ulysses_mask_arguments(lambda *given: given[2:], config, torch.zeros(1), None, "others")

    assert ask("hub/other") == (None, "others")
    register_ulysses_group(lambda: dist.group.WORLD)
    assert ask("hub/kernel") == ask("flash_attention_3") == (None, "others")
    _expect([(NotImplementedError, repr(name), partial(ask, name)) for name in ("hub/other", "paged|hub/kernel", None)])
    register_ulysses_group(None)


def _run_rank(rank: int, ranks: int, rendezvous: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks)
    _use_cpu_flash()
    _check_heads(rank, ranks)
    _check_refusals(ranks)
    _check_what_is_not_exchanged(rank, ranks)
    _check_registered()
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
    # All checks are done; leaving the ordinary way, gloo's threads abort the process now and then.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    number = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.spawn(_run_rank, args=(number, str(Path(folder) / "rendezvous")), nprocs=number)
