"""RMSNorm with a weight kept as its distance from 1, and the norm before a gate, against plain PyTorch on CPU."""

from __future__ import annotations

import pytest
import torch
from comparison import DTYPES, NPU, assert_close, compare, leaf
from torch.nn import functional
from transformers.integrations import npu_norms
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextRMSNorm, Qwen3NextRMSNormGated

import emulation


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weight_dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 5, 16)], ids=str)
def test_the_weight_is_one_more_than_what_is_kept(
    dtype: torch.dtype, weight_dtype: torch.dtype, shape: tuple[int, ...]
) -> None:
    def formula(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states.float(), weight.shape, 1.0 + weight.float(), 1e-6).to(states.dtype)

    states, weight = leaf(*shape, dtype=dtype), leaf(shape[-1], dtype=weight_dtype)
    assert npu_norms.can_use_offset_rms_norm(states.to(NPU), weight.to(NPU))
    compare(lambda x, w: npu_norms.npu_offset_rms_norm(x, w, 1e-6), formula, states, weight)


@pytest.mark.parametrize(
    ("states", "weight"),
    [
        (torch.ones(2, 4), torch.ones(4)),
        (torch.ones(2, 4, device=NPU), torch.ones(4)),
        (torch.ones(2, 4, dtype=torch.float64, device=NPU), torch.ones(4, device=NPU)),
        (torch.ones(2, 4, device=NPU), torch.ones(4, dtype=torch.float64, device=NPU)),
        (torch.ones(0, 4, device=NPU), torch.ones(4, device=NPU)),
        (torch.ones(2, 4, device=NPU), torch.ones(1, device=NPU)),
    ],
    ids=["cpu", "weight on the cpu", "fp64", "fp64 weight", "empty", "broadcast weight"],
)
def test_anything_else_is_left_to_the_model(states: torch.Tensor, weight: torch.Tensor) -> None:
    assert not npu_norms.can_use_offset_rms_norm(states, weight)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("wide", [False, True])
def test_the_models_norm_has_the_dtype_and_numbers_it_has_on_cpu(dtype: torch.dtype, wide: bool) -> None:
    module = Qwen3NextRMSNorm(16)
    torch.nn.init.normal_(module.weight, std=0.5)
    module = module if wide else module.to(dtype)
    states = leaf(3, 16, dtype=dtype)
    expected = module(states)
    with emulation.recorded() as recording:
        actual = module.to(NPU)(states.to(NPU))
    assert_close(actual, expected)
    assert recording.fused("npu_rms_norm") == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_what_is_gated_is_normed_by_the_operator(dtype: torch.dtype) -> None:
    module = Qwen3NextRMSNormGated(16)
    torch.nn.init.normal_(module.weight, mean=1.0, std=0.5)
    module = module.to(dtype)
    states, gate = leaf(3, 16, dtype=dtype), leaf(3, 16, dtype=dtype, seed=1)
    expected = module(states, gate)
    with emulation.recorded() as recording:
        actual = module.to(NPU)(states.to(NPU), gate.to(NPU))
    assert_close(actual, expected, roundings=2)
    assert recording.fused("npu_rms_norm") == 1


def test_the_epsilon_is_the_models() -> None:
    states, gate = leaf(3, 16), leaf(3, 16, seed=1)
    for module, inputs in ((Qwen3NextRMSNorm(16, 0.5), (states,)), (Qwen3NextRMSNormGated(16, 0.5), (states, gate))):
        expected = module(*inputs)
        assert_close(module.to(NPU)(*(one.to(NPU) for one in inputs)), expected)


def test_without_a_gate_upstreams_error_is_raised() -> None:
    with pytest.raises(AttributeError):
        Qwen3NextRMSNormGated(4).to(NPU)(torch.ones(2, 4, device=NPU))
