"""The sparse block of Qwen3-MoE on the emulated NPU against calling one expert after the other on CPU."""

from __future__ import annotations

import copy
import importlib
import itertools
from importlib.util import find_spec
from typing import Any

import pytest
import torch
import torch_npu
import transformers
from comparison import DTYPES, NPU, assert_close, compare, leaf
from torch import nn
from transformers.integrations import npu_grouped, npu_moe
from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeSparseMoeBlock

import emulation

VERSION = torch_npu.__version__
HAS_K_SPLIT = VERSION not in ("2.5.1", "2.6.0")
# In half precision one for the gate, one for up and one for down; in fp32, where weights are copied into one tensor,
# one for the first two. So many in the forward and for the gradients of its input, and where they can for the weights'.
LISTED, STACKED = (3 * (2 + HAS_K_SPLIT), 2 * (2 + HAS_K_SPLIT))
EXPERTS = 6
# Models whose blocks compute expert weights alike, if this transformers has them.
FAMILIES = [name for name in ("qwen3_moe", "qwen3_next") if find_spec(f"transformers.models.{name}")]


def _modeling(family: str) -> Any:
    return importlib.import_module(f"transformers.models.{family}.modeling_{family}")


def _block(
    dtype: torch.dtype = torch.float32,
    *,
    family: str = "qwen3_moe",
    activation: str = "silu",
    experts: int = EXPERTS,
    top_k: int = 2,
) -> Any:
    torch.manual_seed(3)
    prefix = family.title().replace("_", "")
    config = getattr(transformers, f"{prefix}Config")(
        hidden_size=16,
        moe_intermediate_size=10,
        num_experts=experts,
        num_experts_per_tok=top_k,
        hidden_act=activation,
        norm_topk_prob=True,
    )
    block = getattr(_modeling(family), f"{prefix}SparseMoeBlock")(config)
    for parameter in block.parameters():
        nn.init.normal_(parameter, std=0.4)
    return block.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ends", [(2, 2, 9), (9, 9, 9), (0, 4, 9), (3, 6, 9)], ids=str)
def test_grouped_linear_is_one_linear_per_group(dtype: torch.dtype, ends: tuple[int, ...]) -> None:
    def formula(tokens: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        sizes = torch.diff(torch.tensor((0, *ends))).tolist()
        parts = zip(tokens.float().split(sizes), weights, strict=True)
        # Every weight takes part, so that groups without a row get gradients of zero here too.
        return torch.cat([part @ weight.float().t() for part, weight in parts]).to(tokens.dtype)

    def kernel(tokens: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        return npu_moe.grouped_linear(tokens, npu_grouped.Groups(torch.tensor(ends, device=NPU)), list(weights))

    weights = [leaf(5, 6, dtype=dtype, seed=seed) for seed in range(3)]
    compare(kernel, formula, leaf(9, 6, dtype=dtype, seed=7), *weights)


def test_several_weights_per_group_take_one_product() -> None:
    sizes = (2, 0, 7)

    def formula(tokens: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        pairs = zip(tokens.split(sizes), weights[::2], weights[1::2], strict=True)
        return torch.cat([torch.cat([part @ one.t(), part @ two.t()], 1) for part, one, two in pairs])

    def kernel(tokens: torch.Tensor, *weights: torch.Tensor) -> torch.Tensor:
        groups = npu_grouped.Groups(torch.tensor((2, 2, 9), device=NPU))
        with emulation.recorded() as recording:
            output = npu_moe.grouped_linear(tokens, groups, list(weights))
        assert recording.fused("npu_grouped_matmul") == 1
        return output

    compare(kernel, formula, leaf(9, 6, seed=7), *(leaf(5, 6, seed=seed) for seed in range(6)))


Results = dict[str, torch.Tensor | None]


def _run(block: nn.Module, states: torch.Tensor, device: str) -> tuple[Results, emulation.Recording]:
    block = copy.deepcopy(block).to(device)
    states = states.detach().to(device).requires_grad_()
    torch.manual_seed(8)
    weight = torch.randn(states.shape).to(states.dtype).to(device)
    with emulation.recorded() as recording:
        output, logits = block(states)
        (output * weight).sum().backward()
    results: Results = {"output": output.detach(), "logits": logits.detach(), "input": states.grad}
    return {**results, **{name: parameter.grad for name, parameter in block.named_parameters()}}, recording


def _assert_parity(block: nn.Module, states: torch.Tensor) -> emulation.Recording:
    expected, _ = _run(block, states, "cpu")
    actual, recording = _run(block, states, "npu")
    for name, tensor in expected.items():
        found = actual[name]
        assert found is not None, name
        if tensor is None:
            assert not found.any(), name
        else:
            # The loop rounds every expert's part and their running sum; the fused path rounds once.
            assert_close(found, tensor, roundings=4)
    return recording


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 7), (3, 5), (1, 1)], ids=str)
def test_block_agrees_with_the_loop_over_experts(dtype: torch.dtype, shape: tuple[int, int]) -> None:
    states = torch.randn(*shape, 16, generator=torch.Generator().manual_seed(11)).to(dtype)
    _run(_block(dtype), states, NPU)  # asks once what the operator can do
    recording = _assert_parity(_block(dtype), states)
    assert recording.fused("npu_grouped_matmul") == (STACKED if dtype == torch.float32 else LISTED)


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_expert_weights_equal_upstreams_to_the_bit(family: str, norm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In bf16 probabilities are divided by their sum before they are rounded."""
    block, states = _block(torch.bfloat16, family=family, top_k=3).to(NPU), torch.randn(2, 9, 16).bfloat16().to(NPU)
    block.norm_topk_prob = norm
    seen: list[torch.Tensor] = []

    def spy(tokens: torch.Tensor, _: object, selected: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        seen.extend((selected, weights))
        return tokens

    monkeypatch.setattr(_modeling(family), "npu_grouped_experts", spy)
    _, logits = block(states)

    weights, selected = logits.float().softmax(-1).topk(3, dim=-1)
    weights = weights / weights.sum(-1, keepdim=True) if norm else weights
    assert [one.cpu().tolist() for one in seen] == [selected.cpu().tolist(), weights.bfloat16().cpu().tolist()]


def test_experts_without_a_token_get_gradients_of_zero() -> None:
    block = _block()
    with torch.no_grad():
        block.gate.weight[2:] = 0
        block.gate.weight[:2] = 5
    states = torch.rand(2, 4, 16) + 0.1
    recording = _assert_parity(block, states)
    assert recording.fused("npu_grouped_matmul") >= STACKED


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize(("experts", "top_k"), [(1, 1), (2, 2), (5, 1), (128, 3), (130, 3)])
def test_more_experts_than_the_operators_list_length_work(experts: int, top_k: int, dtype: torch.dtype) -> None:
    states = torch.randn(2, 9, 16).to(dtype)
    _run(_block(dtype, experts=experts, top_k=top_k), states, NPU)  # asks once what the operator can do
    recording = _assert_parity(_block(dtype, experts=experts, top_k=top_k), states)
    listed = dtype == torch.bfloat16 and experts <= 128
    assert recording.fused("npu_grouped_matmul") == (LISTED if listed else STACKED)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_host_never_waits_in_forward_nor_in_backward(dtype: torch.dtype) -> None:
    states = torch.randn(2, 5, 16).to(dtype)
    _run(_block(dtype), states, "npu")  # asks once what the operator can do
    _, recording = _run(_block(dtype), states, "npu")
    # Without a split of the reduction the backward must know the group sizes: once per layer.
    assert sum(recording.waits.values()) == (0 if HAS_K_SPLIT else 1)


def test_one_layer_launches_far_fewer_operators_than_the_loop() -> None:
    _, fused = _run(_block(), torch.randn(2, 5, 16), "npu")
    unfused = _block()
    unfused.experts[0].register_forward_hook(lambda *_: None)
    _, loop = _run(unfused, torch.randn(2, 5, 16), "npu")
    # Where the reduction cannot be split, the backward still runs one product per expert.
    assert fused.launches() < loop.launches() / (3 if HAS_K_SPLIT else 1.5)


def test_supported_weights_are_not_copied() -> None:
    _, recording = _run(_block(torch.bfloat16), torch.randn(2, 5, 16).bfloat16(), "npu")
    # Gate and up are joined once; without a split of the reduction so are the ends of the groups, for their sizes.
    joined = sum(count for name, count in recording.operators.items() if name.startswith("aten.cat."))
    assert joined == (1 if HAS_K_SPLIT else 2)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_right_routing_operators_are_used_for_the_version(dtype: torch.dtype) -> None:
    _, recording = _run(_block(dtype), torch.randn(2, 5, 16).to(dtype), "npu")
    # They are documented for bf16 only, and in 2.6.0 they have no backward.
    expected = int(dtype == torch.bfloat16 and HAS_K_SPLIT)
    assert recording.fused("npu_moe_token_permute") == recording.fused("npu_moe_token_unpermute_backward") == expected


class _Adapted(nn.Module):
    """A low-rank adapter around a projection, as PEFT injects them."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, 2, bias=False)
        self.up = nn.Linear(2, base.out_features, bias=False)
        # Code that reads `weight` directly would miss the adapter.
        self.weight = base.weight

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.base(states) + self.up(self.down(states))


def _adapt(block: Qwen3MoeSparseMoeBlock) -> None:
    block.experts[1].up_proj = _Adapted(block.experts[1].up_proj)


def _hook(block: Qwen3MoeSparseMoeBlock) -> None:
    block.experts[2].down_proj.register_forward_hook(lambda _module, _args, output: output * 2)


def _hook_activation(block: Qwen3MoeSparseMoeBlock) -> None:
    block.experts[2].act_fn.register_forward_hook(lambda _module, _args, output: output * 2)


def _turn(block: Qwen3MoeSparseMoeBlock) -> None:
    # The same numbers in another order in memory.
    projection = block.experts[2].up_proj
    projection.weight = nn.Parameter(projection.weight.detach().t().contiguous().t())


def _bias(block: Qwen3MoeSparseMoeBlock) -> None:
    block.experts[0].gate_proj.bias = nn.Parameter(torch.ones(10))


def _wrap(block: Qwen3MoeSparseMoeBlock) -> None:
    # As FSDP2 does in a module that it shards.
    expert = block.experts[3]
    expert.__class__ = type("Sharded", (type(expert),), {})


def _replace_forward(block: Qwen3MoeSparseMoeBlock) -> None:
    original = block.experts[4].forward
    block.experts[4].forward = lambda states: original(states) * 3


@pytest.mark.parametrize("change", [_adapt, _hook, _hook_activation, _turn, _bias, _wrap, _replace_forward])
def test_unsupported_experts_run_one_by_one(change: object) -> None:
    assert callable(change)
    on_cpu, on_npu = _block(), _block()
    states = torch.randn(2, 5, 16)
    for block in (on_cpu, on_npu):
        torch.manual_seed(5)
        change(block)
    on_npu.to("npu")
    with emulation.recorded() as recording:
        output, _ = on_npu(states.to("npu"))
    assert recording.fused("npu_grouped_matmul") == 0
    assert_close(output, on_cpu(states)[0], roundings=4)


def test_experts_of_one_other_memory_layout_run_together() -> None:
    block = _block()
    for expert in block.experts:
        expert.up_proj.weight = nn.Parameter(expert.up_proj.weight.detach().t().contiguous().t())
    recording = _assert_parity(block, torch.randn(2, 5, 16))
    assert recording.fused("npu_grouped_matmul") >= STACKED


def test_hooks_that_only_observe_change_nothing() -> None:
    def observe(*_: object) -> None: ...

    observe.__dict__["only_observes"] = True
    block = _block()
    for module in block.experts.modules():
        module.register_forward_hook(observe)
        module.register_forward_pre_hook(observe)
    assert _assert_parity(block, torch.randn(2, 5, 16)).fused("npu_grouped_matmul") >= STACKED
    block.experts[5].down_proj.register_forward_pre_hook(lambda *_: None)
    assert _assert_parity(block, torch.randn(2, 5, 16)).fused("npu_grouped_matmul") == 0


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_other_activations_run_one_by_one(activation: str) -> None:
    recording = _assert_parity_without_gaps(_block(activation=activation))
    assert recording.fused("npu_grouped_matmul") == recording.fused("npu_swiglu") == 0


def _assert_parity_without_gaps(block: nn.Module) -> emulation.Recording:
    states = torch.randn(2, 30, 16)
    return _assert_parity(block, states)


def test_weights_of_another_dtype_run_one_by_one() -> None:
    block = _block().to("npu")
    states = torch.randn(1, 3, 16).to("npu")
    assert npu_moe.can_use_grouped_experts(states, block.experts, type(block.experts[0]))
    assert not npu_moe.can_use_grouped_experts(states.bfloat16(), block.experts, type(block.experts[0]))


@pytest.mark.parametrize(
    ("dtype", "weight_dtype", "autocast"),
    [
        *((*dtypes, torch.bfloat16) for dtypes in itertools.product((torch.float32, torch.bfloat16), repeat=2)),
        (torch.bfloat16, torch.float32, torch.float16),
    ],
    ids=str,
)
def test_under_autocast_experts_compute_as_the_loop_does(
    dtype: torch.dtype, weight_dtype: torch.dtype, autocast: torch.dtype
) -> None:
    block, states = _block(weight_dtype), torch.randn(2, 30, 16).to(dtype)
    exact, _ = _run(_block(weight_dtype).float(), states.float(), NPU)
    hooked = copy.deepcopy(block)
    hooked.experts[0].register_forward_hook(lambda *_: None)
    with torch.autocast("npu", dtype=autocast):
        expected, loop = _run(hooked, states, NPU)
        actual, fused = _run(block, states, NPU)

    # Weights that already have autocast's dtype are used as they are.
    products = LISTED if weight_dtype == autocast else STACKED
    assert (loop.fused("npu_grouped_matmul"), fused.fused("npu_grouped_matmul")) == (0, products)
    assert actual.keys() == expected.keys()
    for name, found in actual.items():
        other, right = expected[name], exact[name]
        assert found is not None
        assert other is not None
        assert right is not None
        assert (found.dtype, found.shape) == (other.dtype, other.shape), name
        ours, theirs = ((one.cpu().float() - right.cpu().float()).norm() for one in (found, other))
        assert ours <= 1.25 * theirs, name


def test_weights_that_autocast_does_not_cast_run_one_by_one() -> None:
    block, states = _block().double().to("npu"), torch.randn(1, 3, 16).to("npu")
    with torch.autocast("npu", dtype=torch.bfloat16):
        assert not npu_moe.can_use_grouped_experts(states, block.experts, type(block.experts[0]))
        block.float().experts[2].up_proj.bfloat16()
        assert not npu_moe.can_use_grouped_experts(states, block.experts, type(block.experts[0]))
        block.bfloat16()
        assert npu_moe.can_use_grouped_experts(states, block.experts, type(block.experts[0]))


def test_under_the_compiler_experts_run_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    block = _block().to("npu")
    states = torch.randn(1, 3, 16).to("npu")
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not npu_moe.can_use_grouped_experts(states, block.experts, type(block.experts[0]))


def test_capabilities_of_torch_npu_are_tested_once() -> None:
    npu_grouped._splits_reduction.cache_clear()
    _, first = _run(_block(), torch.randn(2, 5, 16), "npu")
    _, second = _run(_block(), torch.randn(2, 5, 16), "npu")
    asked = first.fused("npu_grouped_matmul") - second.fused("npu_grouped_matmul")
    # 2.5.1 would write past its output, and is known by its schema.
    assert asked == (0 if VERSION == "2.5.1" else 1)
    assert second.fused("npu_grouped_matmul") == STACKED


def test_frozen_weights_cost_no_gradient() -> None:
    block = _block()
    block.experts.requires_grad_(requires_grad=False)
    states = torch.randn(2, 5, 16)
    expected, _ = _run(block, states, "cpu")
    actual, recording = _run(block, states, "npu")
    assert actual["experts.0.up_proj.weight"] is None
    assert_close(actual["input"], expected["input"])
    assert recording.fused("npu_grouped_matmul") == 4


def test_unfrozen_experts_get_gradients() -> None:
    block = _block()
    block.experts[1].requires_grad_(requires_grad=False)
    states = torch.randn(2, 30, 16)
    expected, _ = _run(block, states, "cpu")
    actual, _ = _run(block, states, "npu")
    assert {name for name, found in actual.items() if found is None} == {
        f"experts.1.{name}_proj.weight" for name in ("gate", "up", "down")
    }
    for name, tensor in expected.items():
        found = actual[name]
        if found is not None:
            assert tensor is not None
            assert_close(found, tensor, roundings=4)


@pytest.mark.parametrize(
    "states",
    [torch.ones(3, 16), torch.ones(0, 16, device=NPU), torch.ones(3, 16, dtype=torch.float64, device=NPU)],
    ids=["cpu", "empty", "fp64"],
)
def test_unsupported_states_run_the_models_code(states: torch.Tensor) -> None:
    experts = _block().to(states.dtype).to("npu").experts
    assert not npu_moe.can_use_grouped_experts(states, experts, type(experts[0]))


def test_unsupported_experts_run_the_models_code(monkeypatch: pytest.MonkeyPatch) -> None:
    experts, states = _block().to("npu").experts, torch.ones(3, 16, device=NPU)
    kind = type(experts[0])
    assert not npu_moe.can_use_grouped_experts(states, [], kind)
    # Gate and up are two rows of ten in one: an inner axis of twenty.
    monkeypatch.setattr(npu_moe, "MAX_INNER", 32)
    assert npu_moe.can_use_grouped_experts(states, experts, kind)
    monkeypatch.setattr(npu_moe, "MAX_INNER", 31)
    assert not npu_moe.can_use_grouped_experts(states, experts, kind)
    monkeypatch.undo()
    monkeypatch.setattr(npu_moe, "MAX_GROUPS", EXPERTS)
    assert npu_moe.can_use_grouped_experts(states, experts, kind)
    assert not npu_moe.can_use_grouped_experts(states, [*experts, experts[0]], kind)
    monkeypatch.setattr(npu_moe, "has_grouped_products", lambda: False)
    assert not npu_moe.can_use_grouped_experts(states, experts, kind)


def test_without_gradients_only_the_forward_runs() -> None:
    block = _block().to("npu")
    with torch.no_grad(), emulation.recorded() as recording:
        block(torch.randn(2, 5, 16).to("npu"))
    assert recording.fused("npu_grouped_matmul") == 2


def test_activation_checkpointing_recomputes_the_same() -> None:
    block = _block()
    states = torch.randn(2, 5, 16)
    expected, _ = _run(block, states, "npu")

    class Checkpointed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = block

        def forward(self, states: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.utils.checkpoint.checkpoint(self.block, states, use_reentrant=False)

    actual, _ = _run(Checkpointed(), states, "npu")
    for name, tensor in expected.items():
        found = actual[f"block.{name}" if "." in name else name]
        assert tensor is not None
        assert found is not None
        assert torch.equal(found.cpu(), tensor.cpu()), name
