"""Whole models: on CPU bit for bit upstream's, on the emulated NPU as accurate, by the fused operators."""

from __future__ import annotations

import functools
import os

import pytest
import torch
from comparison import relative_error

import emulation
import tiny_models
from tiny_models import Case, Results

CASES = list(tiny_models.cases())
HALF = [case for case in CASES if case.dtype != "float32"]
FULL = [case for case in CASES if case.dtype == "float32"]
# Layers with a norm before attention and one before the MLP, and one at the end; Qwen3 norms queries and keys too.
NORMS = {"llama": 5, "qwen2": 5, "qwen3": 9, "qwen3_moe": 9, "qwen2_vl_text": 5, "qwen2_5_vl_text": 5}
NORMS |= {"qwen2_vl_vision": 0, "qwen2_5_vl_vision": 5}


def _name(case: Case) -> str:
    return case.name


@functools.cache
def _reference() -> dict[str, Results]:
    file = os.environ.get("UPSTREAM_REFERENCE")
    if file is None:
        pytest.skip("UPSTREAM_REFERENCE does not name what the unpatched transformers computed")
    return torch.load(file)


@functools.cache
def _on_npu(case: Case) -> tuple[Results, emulation.Recording]:
    with emulation.recorded() as recording:
        results = tiny_models.run(case, "npu")
    return results, recording


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_on_cpu_outputs_and_gradients_are_upstreams_bit_for_bit(case: Case) -> None:
    expected = _reference()[case.name]
    with emulation.recorded() as recording:
        actual = tiny_models.run(case, "cpu")
    assert actual.keys() == expected.keys()
    assert [name for name in expected if not torch.equal(actual[name], expected[name])] == []
    assert not recording.operators


@pytest.mark.parametrize("case", FULL, ids=_name)
def test_on_npu_fp32_results_are_the_cpus(case: Case) -> None:
    expected = tiny_models.run(case, "cpu")
    actual, _ = _on_npu(case)
    assert expected.keys() <= actual.keys()
    for name, tensor in expected.items():
        assert relative_error(actual, {name: tensor}, names=[name]) < 1e-5, name
    # Experts without a token: zero here, no gradient at all on CPU.
    assert not any(actual[name].any() for name in actual.keys() - expected.keys())


@pytest.mark.parametrize("case", HALF, ids=_name)
def test_on_npu_half_precision_results_are_as_accurate_as_the_cpus(case: Case) -> None:
    exact = tiny_models.run(case, "cpu", exactly=True)
    on_cpu = tiny_models.run(case, "cpu")
    on_npu, _ = _on_npu(case)
    gradients = [name for name in exact if name != "output"]
    for names in (["output"], gradients):
        assert relative_error(on_npu, exact, names=names) < 1.25 * relative_error(on_cpu, exact, names=names)


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_on_npu_every_layer_takes_the_fused_operators(case: Case) -> None:
    _, recording = _on_npu(case)
    silu = case.activation == "silu"
    has_swiglu = silu and case.family != "qwen2_vl_vision"
    is_moe = case.family == "qwen3_moe"
    assert recording.fused("npu_rms_norm") == NORMS[case.family]
    assert recording.fused("npu_rms_norm_backward") == NORMS[case.family]
    # Two layers, queries and keys.
    assert recording.fused("npu_rotary_mul") == recording.fused("npu_rotary_mul_backward") == 4
    assert recording.fused("npu_swiglu") == recording.fused("npu_swiglu_backward") == (2 if has_swiglu else 0)
    assert (recording.fused("npu_grouped_matmul") > 0) == (is_moe and silu)
