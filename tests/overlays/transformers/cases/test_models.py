"""Whole models: on CPU equal to upstream bit for bit; on the emulated NPU as accurate, with the fused operators."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import pytest
import torch
from comparison import relative_error

import emulation
import tiny_models
from tiny_models import Case, Results

CASES = list(tiny_models.cases())
HALF = [case for case in CASES if case.dtype != "float32"]
FULL = [case for case in CASES if case.dtype == "float32"]
# What is measured is left in the report of a run, of which `make parity` makes docs/parity.md.
Record = Callable[[str, object], None]
HAS_GROUPED_MM = find_spec("transformers.integrations.moe") is not None


@dataclass(frozen=True)
class Fused:
    """How often a model of two layers calls each fused operator forward, and as often backward.

    Args:
        norms: two a layer, one at the end; Qwen3 norms queries and keys too, linear attention its gated output.
        rotary: queries and keys of each layer with a position embedding.
        swiglu: MLPs, shared experts and all the experts of a layer, where their activation is SiLU.
        has_experts: whether there are experts.
    """

    norms: int
    rotary: int = 4
    swiglu: int = 2
    has_experts: bool = False


FUSED = {
    "llama": Fused(5),
    "qwen2": Fused(5),
    "qwen3": Fused(9),
    "qwen3_moe": Fused(9, has_experts=True),
    "qwen2_vl_text": Fused(5),
    "qwen2_5_vl_text": Fused(5),
    "qwen3_vl_text": Fused(9),
    "qwen3_vl_moe_text": Fused(9, has_experts=True),
    "qwen3_next": Fused(8, rotary=2, swiglu=4, has_experts=True),
    "qwen3_5_text": Fused(8, rotary=2),
    "qwen3_5_moe_text": Fused(8, rotary=2, swiglu=4, has_experts=True),
    "qwen2_vl_vision": Fused(0, swiglu=0),
    "qwen2_5_vl_vision": Fused(5),
    "qwen3_vl_vision": Fused(0, swiglu=0),
    "qwen3_vl_moe_vision": Fused(0, swiglu=0),
    "qwen3_5_vision": Fused(0, swiglu=0),
    "qwen3_5_moe_vision": Fused(0, swiglu=0),
}


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
def test_on_npu_fp32_results_are_the_cpus(case: Case, record_property: Record) -> None:
    expected = tiny_models.run(case, "cpu")
    actual, _ = _on_npu(case)
    assert expected.keys() <= actual.keys()
    errors = {name: relative_error(actual, expected, names=[name]) for name in expected}
    record_property("error", max(errors.values()))
    for name, error in errors.items():
        assert error < 1e-5, name
    # Experts without a token: zero here, no gradient at all on CPU.
    assert not any(actual[name].any() for name in actual.keys() - expected.keys())


@pytest.mark.parametrize("case", HALF, ids=_name)
def test_on_npu_half_precision_results_are_as_accurate_as_the_cpus(case: Case, record_property: Record) -> None:
    exact = tiny_models.run(case, "cpu", exactly=True)
    on_cpu = tiny_models.run(case, "cpu")
    on_npu, _ = _on_npu(case)
    gradients = [name for name in exact if name != "output"]
    for what, names in (("output", ["output"]), ("gradients", gradients)):
        ours, upstreams = (relative_error(found, exact, names=names) for found in (on_npu, on_cpu))
        record_property(f"{what} error", ours)
        record_property(f"{what} error of upstream", upstreams)
        assert ours < 1.25 * upstreams


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_on_npu_every_layer_takes_the_fused_operators(case: Case) -> None:
    _, recording = _on_npu(case)
    expected = FUSED[case.family]
    silu = case.activation == "silu"
    counts = {"npu_rms_norm": expected.norms, "npu_rotary_mul": expected.rotary}
    counts["npu_swiglu"] = expected.swiglu if silu else 0
    for name, count in counts.items():
        assert recording.fused(name) == recording.fused(f"{name}_backward") == count, name
    # If the experts' weights are one tensor, the layout between the products makes no difference.
    has_grouped = expected.has_experts and (silu or HAS_GROUPED_MM)
    assert (recording.fused("npu_grouped_matmul") > 0) == has_grouped
