"""Experts that transformers 5 dispatches, on the emulated NPU against running one after the other on CPU."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_npu
import transformers
from comparison import DTYPES, NPU, assert_close, leaf
from torch import nn
from transformers.integrations import moe, npu_moe_weights

import emulation

HAS_K_SPLIT = torch_npu.__version__ not in ("2.5.1", "2.6.0")
HIDDEN, INNER, EXPERTS = 16, 24, 5
# Two products of a forward; of a backward two for the rows, and where the reduction can be split two for the weights.
PRODUCTS = 4 + 2 * HAS_K_SPLIT
# The experts of seven tokens: the first expert gets none, the last twice as many as others.
SELECTED = ((1, 4), (4, 2), (3, 4), (4, 1), (2, 4), (1, 2), (4, 3))


def _experts(family: str, **options: Any) -> Any:
    """Return the experts of a layer: with a gate and without one, transposed, with biases."""
    prefix, sizes = {
        "mixtral": ("Mixtral", {"num_local_experts": EXPERTS, "intermediate_size": INNER}),
        "deepseek_v3": ("DeepseekV3", {"n_routed_experts": EXPERTS}),
        "gpt_oss": ("GptOss", {"num_local_experts": EXPERTS, "intermediate_size": INNER}),
        "nemotron_h": ("NemotronH", {"n_routed_experts": EXPERTS}),
    }[family]
    config = getattr(transformers, f"{prefix}Config")(
        **{"hidden_size": HIDDEN, "moe_intermediate_size": INNER, **sizes, **options}
    )
    config._experts_implementation = "grouped_mm"
    package = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    # DeepSeek's had another name before 5.24.
    (name,) = (name for name in vars(package) if name in {f"{prefix}Experts", f"{prefix}NaiveMoe"})
    return _initialised(getattr(package, name)(config))


def _initialised(module: nn.Module) -> nn.Module:
    torch.manual_seed(3)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module


FAMILIES = ("mixtral", "deepseek_v3", "gpt_oss", "nemotron_h")
Results = dict[str, torch.Tensor | None]


Routing = tuple[torch.Tensor, torch.Tensor]


def _run(
    experts: Any, device: str, routing: Routing, dtype: torch.dtype, *, eager: bool = False
) -> tuple[Results, emulation.Recording]:
    """Return the output and all gradients of some experts for seven tokens, with their numbers and weights."""
    selected, weights = routing
    experts = copy.deepcopy(experts).to(dtype).to(device)
    experts.config._experts_implementation = "eager" if eager else "grouped_mm"
    states = leaf(len(selected), HIDDEN, dtype=dtype).to(device).requires_grad_()
    weights = weights.detach().to(device).requires_grad_()
    outer = leaf(len(selected), HIDDEN, dtype=dtype, seed=9).to(device)
    with emulation.recorded() as recording:
        output = experts(states, selected.to(device), weights)
        (output * outer).sum().backward()
    found = {name: parameter.grad for name, parameter in experts.named_parameters()}
    assert weights.grad is not None
    # What weights of another dtype are multiplied with is rounded to that of the experts.
    return {"output": output.detach(), "input": states.grad, "weights": weights.grad.to(dtype), **found}, recording


def _routing(dtype: torch.dtype = torch.float32) -> Routing:
    return torch.tensor(SELECTED), leaf(len(SELECTED), 2, seed=5).softmax(-1).to(dtype)


def _assert_same(actual: Results, expected: Results, *, roundings: int = 4) -> None:
    assert actual.keys() == expected.keys()
    for name, tensor in expected.items():
        found = actual[name]
        assert tensor is not None, name
        assert found is not None, name
        assert_close(found, tensor, roundings=roundings)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("routed", ["in the same dtype", "in fp32"])
@pytest.mark.parametrize("family", FAMILIES)
def test_experts_agree_with_running_one_after_the_other(family: str, routed: str, dtype: torch.dtype) -> None:
    experts, routing = _experts(family), _routing(dtype if routed == "in the same dtype" else torch.float32)
    _run(experts, NPU, routing, dtype)  # asks once what the operator can do
    expected, _ = _run(experts, "cpu", routing, dtype, eager=True)
    actual, recording = _run(experts, NPU, routing, dtype)
    _assert_same(actual, expected)
    assert recording.fused("npu_grouped_matmul") == PRODUCTS
    # Both are documented for bf16 only, and in 2.6.0 they have no backward.
    permutes = int(dtype == torch.bfloat16 and HAS_K_SPLIT)
    for name in ("permute", "permute_backward", "unpermute", "unpermute_backward"):
        assert recording.fused(f"npu_moe_token_{name}") == permutes, name


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_on_the_cpu_upstreams_dispatch_runs_bit_for_bit(
    family: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (_experts(family), "cpu", _routing(dtype), dtype)
    actual, _ = _run(*arguments)
    monkeypatch.setitem(moe.ALL_EXPERTS_FUNCTIONS._global_mapping, "grouped_mm", _upstream())
    expected, _ = _run(*arguments)
    for name, tensor in expected.items():
        found = actual[name]
        assert found is not None
        assert tensor is not None
        assert torch.equal(found, tensor), name


def _upstream() -> Callable[..., torch.Tensor]:
    """Return upstream's own dispatch."""
    upstream: Callable[..., torch.Tensor] = moe._upstream_grouped_mm_experts_forward
    return upstream


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_token_of_another_ranks_expert_adds_nothing(family: str, dtype: torch.dtype) -> None:
    """Under expert parallelism, a larger number denotes another rank's expert, whatever its weight."""
    experts, (selected, weights) = _experts(family), _routing(dtype)
    elsewhere = torch.tensor([[False, True], [True, True], *([[False, False]] * 4), [True, False]])
    kept = (selected, weights.masked_fill(elsewhere, 0.0))
    expected, _ = _run(experts, "cpu", kept, dtype, eager=True)
    actual, _ = _run(experts, NPU, (selected.masked_fill(elsewhere, EXPERTS), weights), dtype)
    gradient = expected.pop("weights")
    found = actual.pop("weights")
    assert gradient is not None
    assert found is not None
    assert_close(found, gradient.masked_fill(elsewhere, 0.0), roundings=4)
    _assert_same(actual, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_all_tokens_may_go_to_one_expert(dtype: torch.dtype) -> None:
    experts, routing = _experts("mixtral"), (torch.full((7, 1), 2), _routing(dtype)[1][:, :1])
    expected, _ = _run(experts, "cpu", routing, dtype, eager=True)
    actual, _ = _run(experts, NPU, routing, dtype)
    _assert_same(actual, expected)


LAUNCHED = {
    torch.bfloat16: {"npu.npu_moe_token_permute", "npu.npu_moe_token_unpermute"},
    torch.float32: {
        "aten.arange.start_out",
        "aten.sum.IntList_out",
        "aten.sort.values_stable",
        "aten._index_put_impl_.default",
        "aten.floor_divide.default",
        "aten.index_select.default",
    },
}


@pytest.mark.skipif(not HAS_K_SPLIT, reason="without a backward the permutation is not used")
@pytest.mark.parametrize("dtype", LAUNCHED, ids=str)
def test_a_forward_launches_these_operators_and_copies_no_weight(dtype: torch.dtype) -> None:
    experts, states = _experts("mixtral").to(dtype).to(NPU), leaf(7, HIDDEN, dtype=dtype).to(NPU)
    routing = [tensor.to(NPU) for tensor in _routing(dtype)]
    with emulation.recorded() as recording, torch.no_grad():
        experts(states, *routing)
    shared = {"aten._to_copy", "aten.histc", "aten.cumsum.out", "aten.fill_.Scalar", "aten.lt.Scalar_out"}
    shared |= {"aten.mul.out", "npu.npu_grouped_matmul", "npu.npu_swiglu"}
    launched = {name for name in recording.operators if not _is_free(name)}
    assert launched == shared | LAUNCHED[dtype]
    # One of each, two products, and in fp32 two of what gathers and multiplies.
    assert recording.launches() == {torch.bfloat16: 11, torch.float32: 17}[dtype]


def _is_free(name: str) -> bool:
    alone = emulation.Recording()
    alone.operators[name] = 1
    return alone.launches() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("routed", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_fewer_operators_run_than_in_upstreams_dispatch_with_the_same_products(
    family: str, routed: torch.dtype, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = (_experts(family), NPU, _routing(routed), dtype)
    _run(*arguments)  # asks once what the operator can do
    _, ours = _run(*arguments)
    monkeypatch.setattr(moe, "can_use_expert_weights", lambda *_: False)
    _, upstream = _run(*arguments)
    assert ours.fused("npu_grouped_matmul") == upstream.fused("npu_grouped_matmul") == PRODUCTS
    assert ours.launches() < upstream.launches()
    # Without a split of the reduction the backward must know the group sizes: once per product there, once here.
    assert sum(ours.waits.values()) == (0 if HAS_K_SPLIT else 1)


class _Sharded(torch.Tensor):
    """A subclass of Tensor, like DTensor."""


def _narrow(name: str) -> Callable[[Any], None]:
    def change(experts: Any) -> None:
        setattr(experts, name, nn.Parameter(getattr(experts, name).detach().bfloat16()))

    return change


CHANGED: dict[str, Callable[[Any], None]] = {
    "a weight of another dtype": _narrow("down_proj"),
    "a bias of another dtype": _narrow("down_proj_bias"),
    "a norm of what experts return": lambda experts: setattr(experts, "has_post_expert_norm", True),
}
GIVEN: dict[str, Callable[..., tuple[torch.Tensor, ...]]] = {
    "one weight for each pair": lambda states, selected, weights: (states, selected, weights.flatten()),
    "a subclass": lambda states, selected, weights: (states, selected, weights.as_subclass(_Sharded)),
    "no tokens": lambda states, selected, weights: (states[:0], selected[:0], weights[:0]),
    "weights in fp64": lambda states, selected, weights: (states, selected, weights.double()),
    "fewer tokens than numbers": lambda states, selected, weights: (states[:6], selected, weights),
    "numbers in a row": lambda states, selected, weights: (states, selected[:, 0], weights[:, 0]),
}


@pytest.mark.parametrize("case", [*CHANGED, *GIVEN])
def test_unsupported_inputs_run_upstreams_code(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    experts, given = _experts("gpt_oss").to(NPU), [tensor.to(NPU) for tensor in (leaf(7, HIDDEN), *_routing())]
    seen: list[str] = []
    monkeypatch.setattr(moe, "_upstream_grouped_mm_experts_forward", lambda *_: seen.append("upstream"))
    monkeypatch.setattr(moe, "npu_expert_weights", lambda *_: seen.append("ours"))
    moe.grouped_mm_experts_forward(experts, *given)
    CHANGED.get(case, lambda _: None)(experts)
    moe.grouped_mm_experts_forward(experts, *GIVEN.get(case, lambda *same: same)(*given))
    assert seen == ["ours", "upstream"]


def test_under_the_compiler_upstreams_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    experts = npu_moe_weights.expert_weights(_experts("mixtral").to(NPU))
    given = (leaf(7, HIDDEN).to(NPU), experts, *(tensor.to(NPU) for tensor in _routing()))
    assert npu_moe_weights.can_use_expert_weights(*given)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not npu_moe_weights.can_use_expert_weights(*given)


def _mixtral(**options: Any) -> nn.Module:
    from transformers import MixtralConfig  # noqa: PLC0415
    from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock  # noqa: PLC0415

    config = MixtralConfig(hidden_size=16, intermediate_size=24, num_local_experts=5, num_experts_per_tok=2, **options)
    config._experts_implementation = "grouped_mm"
    return _initialised(MixtralSparseMoeBlock(config))


def _deepseek(**options: Any) -> nn.Module:
    from transformers import DeepseekV3Config  # noqa: PLC0415
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3MoE  # noqa: PLC0415

    config = DeepseekV3Config(
        hidden_size=16,
        moe_intermediate_size=24,
        n_routed_experts=8,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        **options,
    )
    config._experts_implementation = "grouped_mm"
    return _initialised(DeepseekV3MoE(config))


def _run_block(block: nn.Module, states: torch.Tensor, device: str) -> tuple[Results, emulation.Recording]:
    block = copy.deepcopy(block).to(device)
    states = states.detach().to(device).requires_grad_()
    with emulation.recorded() as recording:
        output = block(states)
        output = output[0] if isinstance(output, tuple) else output
        output.square().sum().backward()
    found = {name: parameter.grad for name, parameter in block.named_parameters()}
    return {"output": output.detach(), "input": states.grad, **found}, recording


@pytest.mark.parametrize("build", [_mixtral, _deepseek])
@pytest.mark.parametrize("activation", ["silu", "gelu"])
def test_families_without_their_own_operation_are_fused_too(build: Any, activation: str) -> None:
    block, states = build(hidden_act=activation), leaf(2, 7, 16)
    expected, _ = _run_block(block, states, "cpu")
    actual, recording = _run_block(block, states, NPU)
    for name, tensor in expected.items():
        found = actual[name]
        if tensor is not None:
            assert found is not None
            assert_close(found, tensor, roundings=4)
    assert recording.fused("npu_grouped_matmul") >= PRODUCTS
    assert (recording.fused("npu_swiglu") > 0) == (activation == "silu")


def test_activation_checkpointing_recomputes_the_same() -> None:
    block, states = _mixtral(), leaf(2, 5, 16)
    expected, _ = _run_block(block, states, NPU)

    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = block

        def forward(self, states: torch.Tensor) -> Any:
            return torch.utils.checkpoint.checkpoint(self.block, states, use_reentrant=False)

    actual, _ = _run_block(Checkpointed(), states, NPU)
    for name, tensor in expected.items():
        found = actual[f"block.{name}" if name not in ("output", "input") else name]
        assert found is not None
        assert tensor is not None
        assert torch.equal(found.cpu(), tensor.cpu()), name
