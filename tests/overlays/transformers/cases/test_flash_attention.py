"""Flash attention on the emulated NPU: windows, packed sequences, and clear refusals."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import pytest
import torch
from comparison import assert_close
from torch.nn import functional
from transformers import modeling_flash_attention_utils
from transformers.integrations import npu_flash_attention, npu_kernels
from transformers.integrations.npu_flash_attention import npu_flash_attn_func, npu_flash_attn_varlen_func

import emulation
import vision_language


def _states(length: int, heads: int, seed: int, *, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(2, length, heads, 8, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _expected(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor | None) -> torch.Tensor:
    q, k, v = (states.transpose(1, 2).float() for states in (q, k, v))
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed, enable_gqa=True).transpose(1, 2)


def _allowed(length_q: int, length_k: int, *, causal: bool, window: tuple[int, int]) -> torch.Tensor:
    """Which keys each query sees, as flash-attn defines it: aligned to the end, windows inclusive."""
    distance = torch.arange(length_k).unsqueeze(0) - torch.arange(length_q).unsqueeze(1) - (length_k - length_q)
    left, right = window
    seen = torch.ones(length_q, length_k, dtype=torch.bool)
    if left >= 0:
        seen &= distance >= -left
    if causal or right >= 0:
        seen &= distance <= (0 if causal else right)
    return seen


WINDOWS = [
    (True, (-1, -1)),
    (True, (2, 2)),
    (True, (0, 0)),
    (False, (-1, -1)),
    (False, (2, 1)),
    (False, (-1, 1)),
    (False, (2, -1)),
]


@pytest.mark.parametrize(("causal", "window"), WINDOWS, ids=str)
@pytest.mark.parametrize("length_q", [7, 3, 1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_batched_attention(causal: bool, window: tuple[int, int], length_q: int, dtype: torch.dtype) -> None:
    leaves = [_states(length_q, 4, 1, dtype=dtype), _states(7, 2, 2, dtype=dtype), _states(7, 2, 3, dtype=dtype)]
    on_cpu = [leaf.clone().requires_grad_() for leaf in leaves]
    on_npu = [leaf.to("npu").requires_grad_() for leaf in leaves]
    q, k, v = on_cpu
    expected = _expected(q, k, v, _allowed(length_q, 7, causal=causal, window=window)).to(dtype)
    actual = npu_flash_attn_func(*on_npu, causal=causal, window_size=window)
    assert_close(actual, expected)
    expected.float().pow(2).sum().backward()
    actual.float().pow(2).sum().backward()
    for cpu, npu in zip(on_cpu, on_npu, strict=True):
        assert npu.grad is not None
        assert cpu.grad is not None
        assert_close(npu.grad, cpu.grad, roundings=4)


@pytest.mark.parametrize(("causal", "window"), WINDOWS, ids=str)
def test_joined_sequences_do_not_see_each_other(causal: bool, window: tuple[int, int]) -> None:
    lengths = (4, 1, 6)
    q, k, v = (_states(11, heads, seed)[0] for heads, seed in ((4, 1), (2, 2), (2, 3)))
    parts = zip(q.split(lengths), k.split(lengths), v.split(lengths), lengths, strict=True)
    expected = torch.cat(
        [
            _expected(a[None], b[None], c[None], _allowed(size, size, causal=causal, window=window))[0]
            for a, b, c, size in parts
        ]
    )
    ends = torch.tensor([0, 4, 5, 11], dtype=torch.int32).to("npu")
    with emulation.recorded() as recording:
        actual = npu_flash_attn_varlen_func(
            *(states.to("npu") for states in (q, k, v)), ends, ends, 6, 6, causal=causal, window_size=window
        )
    assert_close(actual, expected)
    assert recording.waits["copy to the host"] == 1


def test_shared_lengths_are_read_once_and_again_after_a_change() -> None:
    q = _states(6, 2, 1)[0].to("npu")
    bounds = torch.tensor([0, 2, 6], device="npu")
    with emulation.recorded() as recording:
        for _ in range(3):
            before = npu_flash_attn_varlen_func(q, q, q, bounds, bounds)
    assert sum(recording.waits.values()) == 1
    bounds[1] = 3
    with emulation.recorded() as recording:
        after = npu_flash_attn_varlen_func(q, q, q, bounds, bounds.clone())
    assert sum(recording.waits.values()) == 2
    assert not torch.equal(before.cpu(), after.cpu())
    expected = [_expected(*[part.cpu()[None]] * 3, None)[0] for part in (q[:3], q[3:])]
    assert_close(after, torch.cat(expected))


def test_lengths_from_inference_mode_are_read_in_each_layer() -> None:
    with torch.inference_mode():
        q, bounds = _states(6, 2, 1)[0].to("npu"), torch.tensor([0, 2, 6], device="npu")
        for end in (2, 3):
            bounds[1] = end
            with emulation.recorded() as recording:
                actual = npu_flash_attn_varlen_func(q, q, q, bounds, bounds)
            assert sum(recording.waits.values()) == 1
            assert_close(actual[:end], _expected(*[q[:end].cpu()[None]] * 3, None)[0])


@pytest.mark.parametrize(("causal", "window"), WINDOWS, ids=str)
def test_joined_sequences_can_have_more_keys_than_queries(causal: bool, window: tuple[int, int]) -> None:
    queries, keys = (2, 1, 3), (4, 5, 3)
    q = _states(6, 4, 1)[0]
    k, v = (_states(12, 2, seed)[0] for seed in (2, 3))
    parts = zip(q.split(queries), k.split(keys), v.split(keys), queries, keys, strict=True)
    expected = torch.cat(
        [
            _expected(a[None], b[None], c[None], _allowed(rows, columns, causal=causal, window=window))[0]
            for a, b, c, rows, columns in parts
        ]
    )
    ends_q, ends_k = (torch.tensor(ends, dtype=torch.int32).to("npu") for ends in ([0, 2, 3, 6], [0, 4, 9, 12]))
    actual = npu_flash_attn_varlen_func(
        *(states.to("npu") for states in (q, k, v)), ends_q, ends_k, 3, 5, causal=causal, window_size=window
    )
    assert_close(actual, expected)


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, joined: bool, **options: Any) -> torch.Tensor:
    """Return attention over a batch, or over the same sequences joined to one."""
    states = (q.to("npu"), k.to("npu"), v.to("npu"))
    if not joined:
        return npu_flash_attn_func(*states, **options)
    ends_q, ends_k = (torch.arange(len(one) + 1) * one.shape[1] for one in (q, k))
    flat = (one.flatten(0, 1) for one in states)
    return npu_flash_attn_varlen_func(*flat, ends_q, ends_k, **options).view(*q.shape[:-1], v.shape[-1])


@pytest.mark.parametrize("joined", [False, True])
def test_scale_and_dropout_reach_the_operator(joined: bool) -> None:
    q, k, v = (_states(7, 4, seed) for seed in (1, 2, 3))
    scaled = _attend(q, k, v, joined=joined, softmax_scale=0.1)
    assert_close(scaled, _expected(q * 0.1 * 8**0.5, k, v, None))
    # Of one key, all is kept or nothing.
    torch.manual_seed(0)
    dropped = _attend(q[:, :1], k[:, :1], torch.ones(2, 1, 4, 8), joined=joined, dropout_p=0.2).cpu()
    kept = dropped.count_nonzero() / dropped.numel()
    assert 0.5 < kept < 1
    assert_close(dropped[dropped != 0], torch.full((int(kept * dropped.numel()),), 1.25))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"softcap": 30.0}, NotImplementedError, "soft cap"),
        ({"deterministic": True}, RuntimeError, "use_deterministic_algorithms"),
        ({"alibi_slopes": torch.zeros(4)}, TypeError, "alibi_slopes"),
    ],
    ids=str,
)
def test_unsupported_options_raise_an_error(options: dict[str, Any], error: type[Exception], message: str) -> None:
    q = _states(7, 4, 1).to("npu").requires_grad_()
    with pytest.raises(error, match=message):
        npu_flash_attn_func(q, q, q, **options)
    flat = q[0]
    ends = torch.tensor([0, 7], dtype=torch.int32).to("npu")
    with pytest.raises(error, match=message):
        npu_flash_attn_varlen_func(flat, flat, flat, ends, ends, **options)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"v": 9}, "no more in values"),
        ({"k": 7, "v": 7}, "as many in keys as in queries"),
        ({"q": 769, "k": 769}, "up to 768 numbers"),
        ({"heads": 3}, "as many for each key head"),
        ({"heads": 258}, "up to 256 query heads"),
        ({"length": 0}, "at least one token"),
        ({"dtype": torch.float64}, "fp16, bf16 or fp32"),
    ],
    ids=str,
)
def test_unsupported_shapes_raise_an_error(sizes: dict[str, Any], message: str) -> None:
    """The operator itself refuses them too."""
    length, heads, dtype = sizes.get("length", 3), sizes.get("heads", 4), sizes.get("dtype", torch.float32)
    q = torch.ones(1, length, heads, sizes.get("q", 8), dtype=dtype, device="npu")
    k, v = (torch.ones(1, length, 2, sizes.get(name, 8), dtype=dtype, device="npu") for name in "kv")
    ends = torch.tensor([0, length], dtype=torch.int32, device="npu")
    with pytest.raises(NotImplementedError, match=message):
        npu_flash_attn_func(q, k, v)
    with pytest.raises(NotImplementedError, match=message):
        npu_flash_attn_varlen_func(q[0], k[0], v[0], ends, ends)
    with pytest.raises(RuntimeError, match="npu_fusion_attention: "):
        torch.ops.npu.npu_fusion_attention(q, k, v, heads, "BSND")


@pytest.mark.parametrize(("dim_q", "dim_v"), [(8, 5), (768, 768), (5, 3)])
def test_values_may_have_smaller_heads(dim_q: int, dim_v: int) -> None:
    q, k, v = (torch.randn(2, 3, 4, dim) for dim in (dim_q, dim_q, dim_v))
    assert_close(npu_flash_attn_func(q.to("npu"), k.to("npu"), v.to("npu")), _expected(q, k, v, None))


def test_sequences_beyond_the_limit_take_several_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, the windows of many images."""
    queries, keys = [1, 2, 3] * 7, [2, 3, 4] * 7
    ends_q, ends_k = (torch.tensor([0, *itertools.accumulate(one)], dtype=torch.int32) for one in (queries, keys))
    leaves = [_states(sum(one), heads, seed)[0] for one, heads, seed in ((queries, 4, 1), (keys, 2, 2), (keys, 2, 3))]
    sinks = {"s_aux": torch.randn(4).to("npu")} if npu_kernels.has_attention_sinks() else {}

    def attend() -> tuple[list[torch.Tensor], int]:
        q, k, v = (one.to("npu").requires_grad_() for one in leaves)
        with emulation.recorded() as recording:
            output = npu_flash_attn_varlen_func(q, k, v, ends_q, ends_k, causal=True, window_size=(1, 0), **sinks)
        output.square().sum().backward()
        return [output.detach(), q.grad, k.grad, v.grad], recording.fused("npu_fusion_attention")

    whole, calls = attend()
    monkeypatch.setattr(npu_kernels, "_ATTENTION_MAX_SEQUENCES", 8)
    monkeypatch.setattr(npu_kernels, "_ATTENTION_MAX_TOKENS", 14)
    parts, more_calls = attend()
    assert (calls, more_calls) == (1, 5)
    for one, other in zip(parts, whole, strict=True):
        assert_close(one, other.cpu())


def test_batches_of_too_long_sequences_raise_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npu_kernels, "_ATTENTION_MAX_TOKENS", 4)
    short, long = _states(4, 2, 1).to("npu"), _states(5, 2, 2).to("npu")
    npu_flash_attn_func(short, short, short)
    for q, k in ((short, long), (long, short)):
        with pytest.raises(NotImplementedError, match="sequences of 4 tokens"):
            npu_flash_attn_func(q, k, k)


def test_sequences_up_to_the_limit_take_one_call() -> None:
    for count, calls in ((1000, 1), (1001, 2)):
        states, ends = torch.randn(count, 1, 4).to("npu"), torch.arange(count + 1, dtype=torch.int32)
        with emulation.recorded() as recording:
            npu_flash_attn_varlen_func(states, states, states, ends, ends)
        assert recording.fused("npu_fusion_attention") == calls


@pytest.mark.parametrize(
    ("lengths_q", "lengths_k", "options"),
    [
        ((2, 3), (2, 2), {"causal": True}),
        ((2, 3), (2, 2), {"causal": True, "window_size": (1, 1)}),
        ((2, 4), (2, 2), {"window_size": (-1, 1)}),
        ((2, 1), (2, 0), {}),
    ],
    ids=str,
)
def test_joined_queries_without_a_visible_key_raise_an_error(
    lengths_q: tuple[int, int], lengths_k: tuple[int, int], options: dict[str, Any]
) -> None:
    ends_q, ends_k = (torch.tensor([0, one, one + two]) for one, two in (lengths_q, lengths_k))
    q, k = (torch.ones(int(ends[-1]), 2, 4, device="npu") for ends in (ends_q, ends_k))
    with pytest.raises(NotImplementedError, match=f"{lengths_q[1]} queries and {lengths_k[1]} keys"):
        npu_flash_attn_varlen_func(q, k, k, ends_q, ends_k, **options)


def test_more_queries_than_keys_work_if_each_sees_a_key() -> None:
    q, k = torch.randn(1, 5, 2, 4), torch.randn(1, 3, 2, 4)
    ends_q, ends_k = torch.tensor([0, 0, 5]), torch.tensor([0, 0, 3])
    joined = npu_flash_attn_varlen_func(
        q[0].to("npu"), k[0].to("npu"), k[0].to("npu"), ends_q, ends_k, window_size=(-1, 2)
    )
    assert_close(joined, _expected(q, k, k, _allowed(5, 3, causal=False, window=(-1, 2)))[0])


def test_batched_queries_without_a_visible_key_return_zero() -> None:
    q, k = torch.randn(2, 5, 2, 4), torch.randn(2, 3, 2, 4)
    found = npu_flash_attn_func(q.to("npu"), k.to("npu"), k.to("npu"), causal=True).cpu()
    assert not found[:, :2].any()
    assert_close(found[:, 2:], _expected(q[:, 2:], k, k, _allowed(3, 3, causal=True, window=(-1, -1))))


needs_sinks = pytest.mark.xfail(
    not npu_kernels.has_attention_sinks(), reason="this torch_npu has no sinks", strict=True, raises=NotImplementedError
)


@needs_sinks
@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_sinks_reach_the_operator_and_get_their_gradients(joined: bool, dtype: torch.dtype) -> None:
    q, k, v = (_states(5, heads, seed, dtype=dtype) for heads, seed in ((4, 1), (2, 2), (2, 3)))
    sinks = torch.tensor([-2.0, 0.5, 1.0, 3.0]).to(dtype)
    wanted = [one.clone().requires_grad_() for one in (q, k, v, sinks)]
    hidden = ~_allowed(5, 5, causal=True, window=(2, 0))
    logits = torch.einsum("bqhd,bkhd->bhqk", wanted[0].float(), wanted[1].float().repeat_interleave(2, 2)) * 8**-0.5
    column = wanted[3].float().view(1, 4, 1, 1).expand(2, 4, 5, 1)
    weights = torch.cat([logits.masked_fill(hidden, -torch.inf), column], -1).softmax(-1)[..., :-1]
    expected = torch.einsum("bhqk,bkhd->bqhd", weights, wanted[2].float().repeat_interleave(2, 2)).to(dtype)

    leaves = [one.to("npu").requires_grad_() for one in (q, k, v, sinks)]
    actual = _attend(*leaves[:3], joined=joined, causal=True, window_size=(2, 0), s_aux=leaves[3])

    assert_close(actual, expected)
    expected.float().square().sum().backward()
    actual.float().square().sum().backward()
    for npu, cpu in zip(leaves, wanted, strict=True):
        assert npu.grad is not None
        assert cpu.grad is not None
        assert_close(npu.grad, cpu.grad, roundings=4)


def _gpt_oss(implementation: str) -> Any:
    from transformers import GptOssConfig, GptOssForCausalLM  # noqa: PLC0415

    torch.manual_seed(2)
    config = GptOssConfig(
        vocab_size=67,
        hidden_size=32,
        intermediate_size=20,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        num_local_experts=4,
        num_experts_per_tok=4,
        sliding_window=3,
        max_position_embeddings=64,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation=implementation,
    )
    model: Any = GptOssForCausalLM(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@needs_sinks
def test_a_model_with_sinks_equals_eager_attention_on_cpu() -> None:
    ids = torch.randint(67, (2, 9), generator=torch.Generator().manual_seed(1))
    on_cpu, on_npu = _gpt_oss("eager"), _gpt_oss("flash_attention_2").to("npu")
    expected = on_cpu(input_ids=ids, use_cache=False).logits
    with emulation.recorded() as recording:
        actual = on_npu(input_ids=ids.to("npu"), use_cache=False).logits
    assert recording.fused("npu_fusion_attention") == 2
    assert_close(actual, expected)
    expected.square().mean().backward()
    actual.square().mean().backward()
    found = dict(on_npu.named_parameters())
    for name, parameter in on_cpu.named_parameters():
        assert_close(found[name].grad, parameter.grad, roundings=4)


def test_the_error_without_sinks_names_the_versions_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(npu_flash_attention, "has_attention_sinks", lambda: False)
    q = _states(7, 4, 1).to("npu")
    ends = torch.tensor([0, 7])
    for call in (
        lambda **options: npu_flash_attn_func(q, q, q, **options),
        lambda **options: npu_flash_attn_varlen_func(q[0], q[0], q[0], ends, ends, **options),
    ):
        with pytest.raises(
            NotImplementedError,
            match=r"needs torch_npu 2\.6\.0\.post5, 2\.7\.1\.post2, 2\.8\.0\.post2, 2\.9\.0 or newer",
        ):
            call(s_aux=torch.zeros(4, device="npu"))


def test_determinism_that_is_on_or_not_needed_is_accepted() -> None:
    q = _states(7, 4, 1).to("npu").requires_grad_()
    with torch.no_grad():
        expected = npu_flash_attn_func(q, q, q, deterministic=True)
    torch.use_deterministic_algorithms(mode=True)
    try:
        actual = npu_flash_attn_func(q, q, q, deterministic=True, softcap=0.0, s_aux=None, return_attn_probs=False)
    finally:
        torch.use_deterministic_algorithms(mode=False)
    assert torch.equal(actual.detach().cpu(), expected.cpu())


def test_a_window_aligned_to_the_start_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npu_flash_attention, "SPARSE_MODE", 2)
    q, k = _states(3, 4, 1).to("npu"), _states(7, 4, 2).to("npu")
    with pytest.raises(NotImplementedError, match="NPU_FA2_SPARSE_MODE"):
        npu_flash_attn_func(q, k, k, causal=True, window_size=(2, 0))
    aligned = npu_flash_attn_func(k, k, k, causal=True, window_size=(2, 0))
    assert_close(aligned, _expected(*(k.cpu(),) * 3, _allowed(7, 7, causal=True, window=(2, 0))))


def _model(implementation: str, **options: Any) -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM  # noqa: PLC0415

    torch.manual_seed(2)
    config = Qwen2Config(
        vocab_size=67,
        hidden_size=32,
        intermediate_size=44,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        attn_implementation=implementation,
        **options,
    )
    return Qwen2ForCausalLM(config)


SLIDING = {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 0}


@pytest.mark.parametrize("options", [{}, SLIDING], ids=["full", "sliding"])
@pytest.mark.parametrize("layout", ["plain", "padded", "packed"])
def test_flash_attention_on_npu_equals_eager_attention_on_cpu(options: dict[str, Any], layout: str) -> None:
    ids = torch.randint(67, (1 if layout == "packed" else 2, 9), generator=torch.Generator().manual_seed(1))
    inputs: dict[str, Any] = {"input_ids": ids, "use_cache": False}
    kept = torch.ones_like(ids)
    if layout == "padded":
        kept[0, :2] = 0
        inputs["attention_mask"] = kept
    if layout == "packed":
        inputs["position_ids"] = torch.cat([torch.arange(5), torch.arange(4)]).unsqueeze(0)
    expected = _model("eager", **options)(**inputs).logits
    moved = {name: value.to("npu") if isinstance(value, torch.Tensor) else value for name, value in inputs.items()}
    with emulation.recorded() as recording:
        actual = _model("flash_attention_2", **options).to("npu")(**moved).logits
    assert recording.fused("npu_fusion_attention") == 2
    assert_close(actual.cpu()[kept.bool()], expected[kept.bool()])


def test_autocast_on_npu_decides_the_dtype_of_attention() -> None:
    model = _model("flash_attention_2").to("npu")
    seen: list[torch.dtype] = []
    module = model.model.layers[0].self_attn
    from transformers.integrations import flash_attention  # noqa: PLC0415

    def spy(query: torch.Tensor, *_: Any, target_dtype: torch.dtype, **__: Any) -> torch.Tensor:
        seen.append(target_dtype)
        return query

    q = torch.randn(1, 4, 3, 8, device="npu")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flash_attention, "_flash_attention_forward", spy)
        flash_attention.flash_attention_forward(module, q, q, q, None)
        with torch.autocast("npu", dtype=torch.bfloat16):
            flash_attention.flash_attention_forward(module, q, q, q, None)
    assert seen == [torch.float32, torch.bfloat16]


def test_attention_gets_the_requested_implementation() -> None:
    from transformers.integrations import flash_attention  # noqa: PLC0415

    module = _model("flash_attention_2").model.layers[0].self_attn
    seen: dict[str, Any] = {}

    def spy(query: torch.Tensor, *_: Any, **options: Any) -> torch.Tensor:
        seen.update(options)
        return query

    q = torch.randn(1, 4, 3, 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flash_attention, "_flash_attention_forward", spy)
        flash_attention.flash_attention_forward(module, q, q, q, None)
    taken = inspect.signature(modeling_flash_attention_utils._flash_attention_forward).parameters
    (name,) = {"implementation", "attn_implementation"} & taken.keys()
    assert seen[name] == "flash_attention_2"


# Linear attention has its own tests: it needs lengths.
@pytest.mark.parametrize("family", [name for name in vision_language.families() if not name.startswith("qwen3_5")])
def test_packed_sequences_of_vision_language_models_attend_only_to_themselves(family: str) -> None:
    model = vision_language.model_of(family).to(torch.bfloat16).to("npu")
    model.config.get_text_config()._attn_implementation = "flash_attention_2"
    packed = vision_language.batch("text")
    ids, rows = (packed[name].to("npu") for name in ("input_ids", "position_ids"))

    found = model(**{**packed, "input_ids": ids, "position_ids": rows}).logits
    parts = zip(*(one.split(vision_language.LENGTHS, dim=-1) for one in (ids, rows)), strict=True)
    expected = [model(**{**packed, "input_ids": one, "position_ids": row}).logits for one, row in parts]

    assert_close(found, torch.cat(expected, dim=1).cpu(), roundings=8)
