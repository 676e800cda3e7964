"""Each kernel against plain PyTorch on CPU, and each predicate against the inputs that its operator refuses."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import MethodType

import pytest
import torch
from comparison import DTYPES, NPU, ROUNDING, assert_close, compare, leaf
from torch import nn
from torch.nn import functional
from torch.nn.modules import module
from transformers.integrations import npu_kernels
from transformers.models.cohere import modeling_cohere
from transformers.models.deepseek_v3.modeling_deepseek_v3 import apply_rotary_pos_emb_interleave
from transformers.models.ernie4_5 import modeling_ernie4_5
from transformers.models.glm import modeling_glm
from transformers.models.helium import modeling_helium
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb
from transformers.models.nemotron import modeling_nemotron
from transformers.models.olmo2.modeling_olmo2 import apply_rotary_pos_emb as apply_rotary_pos_emb_in_place
from transformers.models.phi3 import modeling_phi3

import emulation
from emulation import attention, checks


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weight_dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 5, 16)], ids=str)
@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_rms_norm_is_the_models(
    dtype: torch.dtype, weight_dtype: torch.dtype, shape: tuple[int, ...], offset: float
) -> None:
    kernel = npu_kernels.npu_offset_rms_norm if offset else npu_kernels.npu_rms_norm
    result = dtype if offset else torch.promote_types(dtype, weight_dtype)

    def formula(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states.float(), weight.shape, offset + weight.float(), 0.07).to(result)

    states, weight = leaf(*shape, dtype=dtype), leaf(shape[-1], dtype=weight_dtype)
    assert npu_kernels.can_use_rms_norm(states.to(NPU), weight.to(NPU))
    compare(lambda x, w: kernel(x, w, 0.07), formula, states, weight)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 20)], ids=str)
def test_swiglu_is_silu_times_up(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    def formula(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return (functional.silu(gate.float()) * up.float()).to(gate.dtype)

    compare(npu_kernels.npu_swiglu, formula, leaf(*shape, dtype=dtype), leaf(*shape, dtype=dtype, seed=1))


def test_a_gate_of_any_memory_layout_works() -> None:
    def formula(columns: torch.Tensor) -> torch.Tensor:
        gate, up = columns.t().chunk(2, dim=-1)
        return functional.silu(gate) * up

    compare(lambda columns: npu_kernels.npu_gated(columns.t()), formula, leaf(12, 5))


ROTARY_SHAPES = [
    ((2, 4, 7, 16), (2, 1, 7, 16)),
    ((2, 4, 7, 16), (1, 1, 7, 16)),
    ((2, 7, 4, 16), (2, 7, 1, 16)),
    ((3, 2, 1, 8), (3, 1, 1, 8)),
    ((9, 2, 80), (9, 1, 80)),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "table"), ROTARY_SHAPES, ids=str)
def test_rotary_rotates(dtype: torch.dtype, shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    cos, sin = leaf(*table, seed=4).cos().to(dtype), leaf(*table, seed=4).sin().to(dtype)

    def formula(states: torch.Tensor) -> torch.Tensor:
        first, second = states.float().chunk(2, -1)
        rotated = torch.cat((-second, first), -1)
        return (states.float() * cos.float() + rotated * sin.float()).to(states.dtype)

    assert npu_kernels.can_use_rotary(leaf(*shape, dtype=dtype).to(NPU), cos.to(NPU), sin.to(NPU))
    compare(lambda x: npu_kernels.npu_rotary(x, cos.to(NPU), sin.to(NPU)), formula, leaf(*shape, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("shape", "table"), [*ROTARY_SHAPES, ((2, 500, 3, 8), (1, 1, 3, 8)), ((2, 3, 500, 8), (1, 3, 1, 8))], ids=str
)
def test_rotary_rotates_pairs_of_neighbours(dtype: torch.dtype, shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    cos, sin = leaf(*table, seed=4).cos().to(dtype), leaf(*table, seed=4).sin().to(dtype)

    def formula(states: torch.Tensor) -> torch.Tensor:
        x = states.float()
        rotated = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
        return (x * cos.float() + rotated * sin.float()).to(states.dtype)

    assert npu_kernels.can_use_rotary_pairs(leaf(*shape, dtype=dtype).to(NPU), cos.to(NPU), sin.to(NPU))
    compare(lambda x: npu_kernels.npu_rotary_pairs(x, cos.to(NPU), sin.to(NPU)), formula, leaf(*shape, dtype=dtype))


@pytest.mark.parametrize(
    ("shape", "table"),
    [
        ((2, 4, 7, 15), (2, 1, 7, 15)),
        ((2, 4, 7, 896), (2, 1, 7, 896)),
        ((2, 1000, 7, 8), (1, 1, 7, 8)),
        ((1000, 2, 7, 8), (1, 1, 7, 8)),
        ((2, 4, 7, 16), (2, 1, 7, 8)),
        ((2, 4, 7, 16), (3, 1, 7, 16)),
        ((2, 4, 7, 16), (2, 1, 6, 16)),
        ((7, 16), (7, 16)),
    ],
    ids=str,
)
def test_rotary_is_not_used_where_the_operator_refuses(shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    states, cos = torch.ones(shape, device=NPU), torch.ones(table, device=NPU)
    assert not npu_kernels.can_use_rotary(states, cos, cos)
    with pytest.raises(RuntimeError, match="npu_rotary_mul"):
        torch.ops.npu.npu_rotary_mul(states, cos, cos)


def test_pairs_run_the_models_code_if_the_operator_has_no_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    states, cos = torch.ones((2, 4, 7, 64), device=NPU), torch.ones((2, 1, 7, 64), device=NPU)
    assert npu_kernels.can_use_rotary_pairs(states, cos, cos)
    monkeypatch.setattr(npu_kernels, "has_argument", lambda *_: False)
    assert npu_kernels.can_use_rotary(states, cos, cos)
    assert not npu_kernels.can_use_rotary_pairs(states, cos, cos)


def _npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device=NPU)


@pytest.mark.parametrize(
    ("states", "weight"),
    [
        (torch.ones(2, 4), torch.ones(4)),
        (_npu(2, 4), torch.ones(4)),
        (_npu(2, 4, dtype=torch.float64), _npu(4)),
        (_npu(2, 4), _npu(4, dtype=torch.float64)),
        (_npu(0, 4), _npu(4)),
        (_npu(2, 4), _npu(1)),
        (_npu(4), _npu(4)),
        (_npu(*[1] * 8, 4), _npu(4)),
    ],
    ids=["cpu", "weight on the cpu", "fp64", "fp64 weight", "empty", "broadcast weight", "a row", "nine dimensions"],
)
def test_rms_norm_of_unsupported_inputs_runs_the_models_code(states: torch.Tensor, weight: torch.Tensor) -> None:
    assert npu_kernels.can_use_rms_norm(_npu(*[1] * 7, 4), _npu(4))
    assert not npu_kernels.can_use_rms_norm(states, weight)


def _hook(said: dict[str, bool]) -> Callable[..., None]:
    def hook(*_: object) -> None: ...

    hook.__dict__.update(said)
    return hook


def _replaced() -> nn.SiLU:
    activation = nn.SiLU()
    activation.__dict__["forward"] = functional.gelu
    return activation


@pytest.mark.parametrize(
    ("states", "activation"),
    [
        (torch.ones(2, 4), nn.SiLU()),
        (_npu(2, 4), nn.GELU()),
        (_npu(2, 4), functional.silu),
        (_npu(2, 4), _replaced()),
        (_npu(2, 4, dtype=torch.float64), nn.SiLU()),
        (_npu(0, 4), nn.SiLU()),
        (_npu(*[1] * 8, 4), nn.SiLU()),
    ],
    ids=["cpu", "gelu", "function", "replaced", "fp64", "empty", "nine dimensions"],
)
def test_swiglu_of_unsupported_inputs_runs_the_models_code(states: torch.Tensor, activation: object) -> None:
    assert npu_kernels.can_use_swiglu(_npu(*[1] * 7, 4), nn.SiLU())
    assert not npu_kernels.can_use_swiglu(states, activation)


def test_swiglu_runs_if_forward_was_reassigned_unchanged() -> None:
    activation = nn.SiLU()
    activation.__dict__["forward"] = MethodType(nn.SiLU.forward, activation)
    assert npu_kernels.can_use_swiglu(_npu(2, 4), activation)
    activation.__dict__["forward"] = MethodType(nn.GELU.forward, activation)
    assert not npu_kernels.can_use_swiglu(_npu(2, 4), activation)


HOOKS = ["forward_pre", "forward", "full_backward", "full_backward_pre"]
SAID = [{"only_observes": True}, {"only_observes": False}, {}]


@pytest.mark.parametrize("kind", HOOKS)
@pytest.mark.parametrize("said", SAID, ids=str)
def test_swiglu_with_a_hooked_activation_runs_the_models_code(kind: str, said: dict[str, bool]) -> None:
    activation = nn.SiLU()
    getattr(activation, f"register_{kind}_hook")(_hook(said))
    assert npu_kernels.can_use_swiglu(_npu(2, 4), activation) == said.get("only_observes", False)


@pytest.mark.parametrize("kind", HOOKS)
@pytest.mark.parametrize("said", SAID, ids=str)
def test_swiglu_with_global_hooks_runs_the_models_code(kind: str, said: dict[str, bool]) -> None:
    handle = getattr(module, f"register_module_{kind}_hook")(_hook(said))
    try:
        assert npu_kernels.can_use_swiglu(_npu(2, 4), nn.SiLU()) == said.get("only_observes", False)
    finally:
        handle.remove()
    assert npu_kernels.can_use_swiglu(_npu(2, 4), nn.SiLU())


@pytest.mark.parametrize("dtypes", [*itertools.product(DTYPES, repeat=3)], ids=str)
def test_rotary_has_the_dtype_of_the_models_product(dtypes: tuple[torch.dtype, ...]) -> None:
    states, cos, sin = (leaf(2, 1, 3, 4, dtype=dtype, seed=seed) for seed, dtype in enumerate(dtypes))
    first, second = states.chunk(2, -1)
    expected = states * cos + torch.cat((-second, first), -1) * sin
    on_npu = (states.to(NPU), cos.to(NPU), sin.to(NPU))
    assert npu_kernels.can_use_rotary(*on_npu)
    actual = npu_kernels.npu_rotary(*on_npu)
    assert actual.dtype == expected.dtype
    # The models round each of the two products to the dtype it has, before they add them up.
    narrowest = max(dtypes, key=ROUNDING.__getitem__)
    assert_close(actual.to(narrowest), expected.to(narrowest), roundings=3)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("rotary", "heads"),
    [
        (apply_rotary_pos_emb, 2),
        (apply_rotary_pos_emb_interleave, 1),
        (apply_rotary_pos_emb_in_place, 1),
        (modeling_phi3.apply_rotary_pos_emb, 1),
        (modeling_nemotron.apply_rotary_pos_emb, 1),
        (modeling_cohere.apply_rotary_pos_emb, 1),
        (modeling_helium.apply_rotary_pos_emb, 2),
        (modeling_ernie4_5.apply_rotary_pos_emb, 1),
        (modeling_glm.apply_rotary_pos_emb, 2),
    ],
    ids=[
        *("heads where they are said to be", "pairs side by side", "in the dtype of the states", "a part", "another"),
        *("pairs in fp32", "pairs of repeated tables", "pairs in fp32 one by one", "pairs of a part"),
    ],
)
def test_each_form_of_rotary_is_the_models(
    rotary: Callable[..., tuple[torch.Tensor, ...]], heads: int, dtype: torch.dtype
) -> None:
    q, k = leaf(2, 5, 4, 8, dtype=dtype), leaf(2, 5, 2, 8, dtype=dtype, seed=1)
    # The tables of some models stay in fp32.
    cos, sin = leaf(2, 5, 8, seed=2).cos(), leaf(2, 5, 8, seed=2).sin()
    if heads == 1:
        q, k = q.transpose(1, 2), k.transpose(1, 2)
    expected = rotary(q, k, cos, sin, unsqueeze_dim=heads)
    with emulation.recorded() as recording:
        actual = rotary(*(one.to(NPU) for one in (q, k, cos, sin)), unsqueeze_dim=heads)
    assert recording.fused("npu_rotary_mul") == 2
    for one, other in zip(actual, expected, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("place", range(3))
def test_rotary_in_fp64_runs_the_models_code(place: int) -> None:
    dtypes = [torch.float64 if number == place else torch.float32 for number in range(3)]
    assert not npu_kernels.can_use_rotary(*(_npu(1, 1, 2, 4, dtype=dtype) for dtype in dtypes))


@pytest.mark.parametrize("trained", ["cos", "sin"])
def test_rotary_with_trained_tables_runs_the_models_code(trained: str) -> None:
    tables = {"cos": _npu(1, 1, 2, 4), "sin": _npu(1, 1, 2, 4)}
    assert npu_kernels.can_use_rotary(_npu(1, 1, 2, 4).requires_grad_(), **tables)
    tables[trained].requires_grad_()
    assert not npu_kernels.can_use_rotary(_npu(1, 1, 2, 4).requires_grad_(), **tables)


def test_autocast_is_that_of_the_device() -> None:
    on_npu, on_cpu = _npu(1), torch.ones(1)
    assert [npu_kernels.product_dtype(one) for one in (on_npu, on_cpu)] == [torch.float32, torch.float32]
    with torch.autocast("npu", dtype=torch.float16):
        assert [npu_kernels.product_dtype(one) for one in (on_npu, on_cpu)] == [torch.float16, torch.float32]
    # Upstream asks the GPU's, whatever the device is.
    torch.set_autocast_enabled("cuda", enabled=True)
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    try:
        assert [npu_kernels.product_dtype(one) for one in (on_npu, on_cpu)] == [torch.float32, torch.bfloat16]
    finally:
        torch.set_autocast_enabled("cuda", enabled=False)
        torch.set_autocast_dtype("cuda", torch.float16)


def test_tensor_subclasses_run_the_models_code() -> None:
    class Sharded(torch.Tensor):
        pass

    states = _npu(2, 4).as_subclass(Sharded)
    assert not npu_kernels.can_use_rms_norm(states, _npu(4))
    assert not npu_kernels.can_use_swiglu(states, nn.SiLU())
    assert npu_kernels.on_npu(nn.Parameter(_npu(2)))


@pytest.mark.parametrize(
    ("tokens", "top_k", "count"),
    [(torch.bfloat16, 2, 9), (torch.float16, 2, 9), (torch.float32, 2, 9), (torch.bfloat16, 513, 2)],
    ids=["bf16", "fp16", "fp32", "513 experts a token"],
)
def test_the_operator_sorts_supported_tokens(tokens: torch.dtype, top_k: int, count: int) -> None:
    states, selected = _npu(count, 4, dtype=tokens), torch.zeros(count, top_k, dtype=torch.int64, device=NPU)
    weights = _npu(count, top_k, dtype=tokens)
    if not npu_kernels.has_backward("npu_moe_token_permute"):
        assert not npu_kernels.can_use_permute(states, selected)
    elif npu_kernels.can_use_permute(states, selected):
        rows, positions = torch.ops.npu.npu_moe_token_permute(states, selected)
        assert torch.ops.npu.npu_moe_token_unpermute(rows, positions, weights).shape == states.shape
        assert torch.ops.npu.npu_moe_token_unpermute(rows, positions).shape == rows.shape
        with pytest.raises(RuntimeError, match="npu_moe_token_unpermute"):
            torch.ops.npu.npu_moe_token_unpermute(rows, positions, weights.float())
    else:
        with pytest.raises(RuntimeError, match="npu_moe_token_permute"):
            torch.ops.npu.npu_moe_token_permute(states, selected)


def test_the_limits_are_those_of_the_emulated_operators() -> None:
    ours = (npu_kernels._PERMUTE_MAX_PAIRS, npu_kernels._ATTENTION_MAX_TOKENS, npu_kernels._ATTENTION_MAX_SEQUENCES)
    assert ours == (checks.MAX_PAIRS, attention.MAX_LENGTH, attention.MAX_SEQUENCES)
    selected = torch.empty(1, dtype=torch.int64, device=NPU)
    for count in (checks.MAX_PAIRS - 1, checks.MAX_PAIRS):
        pairs = selected.expand(count, 1)
        states = _npu(1, 1, dtype=torch.bfloat16).expand(count, 1)
        fits = count < checks.MAX_PAIRS and npu_kernels.has_backward("npu_moe_token_permute")
        assert npu_kernels.can_use_permute(states, pairs) == fits


@pytest.mark.parametrize(
    ("ends_q", "ends_k", "runs"),
    [
        ([3, 7], [4, 9], [([3, 7], [4, 9])]),
        ([0], [0], [([0], [0])]),
        ([4, 9, 9, 12], [4, 9, 9, 12], [([4, 9], [4, 9]), ([0, 3], [0, 3])]),
        ([1, 2, 3], [8, 16, 24], [([1], [8]), ([1], [8]), ([1], [8])]),
        ([10, 15, 20], [10, 15, 20], [([10], [10]), ([5, 10], [5, 10])]),
    ],
)
def test_each_run_of_sequences_fits_one_call(
    ends_q: list[int], ends_k: list[int], runs: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npu_kernels, "_ATTENTION_MAX_TOKENS", 10)
    monkeypatch.setattr(npu_kernels, "_ATTENTION_MAX_SEQUENCES", 2)
    assert npu_kernels.attention_runs(ends_q, ends_k) == runs


@pytest.mark.parametrize("ends", [([11], [1]), ([1], [11]), ([2, 13], [2, 3])], ids=str)
def test_one_sequence_that_is_too_long_is_an_error(
    ends: tuple[list[int], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npu_kernels, "_ATTENTION_MAX_TOKENS", 10)
    with pytest.raises(NotImplementedError, match="sequences of 10 tokens"):
        npu_kernels.attention_runs(*ends)
