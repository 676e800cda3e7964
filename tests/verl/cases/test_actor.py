"""The actor's log-probabilities and updates: those of upstream on CPU, and close to them on the emulated NPU.

The world is one rank on gloo, since there is no emulated HCCL; the model is not
sharded for the same reason.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import actor
import emulation
import pytest
import torch
from verl.utils import device

EMULATED = os.environ.get("EMULATED_NPU") == "1"
ON_NPU = pytest.mark.skipif(not EMULATED, reason="runs in the process with the emulated NPU")
ON_CPU = pytest.mark.skipif(EMULATED, reason="runs in the process without an NPU")
# bfloat16: a few roundings of 2**-8, placed differently, through two layers.
TOLERANCE = 0.03
# Operators of the fast path, which a run on the NPU must have taken.
FUSED = {
    "qwen2": ("npu_rms_norm", "npu_swiglu", "npu_rotary_mul"),
    "qwen3_moe": ("npu_rms_norm", "npu_rotary_mul", "npu_grouped_matmul"),
}


@pytest.fixture(scope="module", autouse=True)
def world() -> Iterator[None]:
    actor.start()
    yield
    torch.distributed.destroy_process_group()


@pytest.fixture(scope="module")
def upstream() -> dict[str, actor.Results]:
    """Return what upstream's verl and transformers computed on CPU."""
    found: dict[str, actor.Results] = torch.load(os.environ["UPSTREAM_ACTOR"])
    assert found.keys() == set(actor.FAMILIES)
    return found


@ON_CPU
@pytest.mark.parametrize("family", actor.FAMILIES)
def test_on_cpu_every_bit_is_upstreams(family: str, upstream: dict[str, actor.Results]) -> None:
    found = actor.run(family)

    assert device.get_device_name() == "cpu"
    assert found.keys() == upstream[family].keys()
    assert [name for name, value in found.items() if not torch.equal(value, upstream[family][name])] == []


@ON_NPU
@pytest.mark.parametrize("family", actor.FAMILIES)
@pytest.mark.parametrize(("attention", "packed"), [("eager", False), ("flash_attention_2", True)])
def test_on_the_npu_results_are_upstreams_within_rounding(
    family: str, attention: str, packed: bool, upstream: dict[str, actor.Results]
) -> None:
    expected = upstream[family]
    with emulation.recorded() as recording:
        found = actor.run(family, "npu", attention=attention, packed=packed)

    assert found.keys() == expected.keys()
    errors = {name: _error(found, expected, [name]) for name in ("log_probs", "entropy", "actor/grad_norm")}
    errors["gradients"] = _error(found, expected, [name for name in found if name.startswith("first grad ")])
    assert {name: error for name, error in errors.items() if error > TOLERANCE} == {}, errors
    fused = {*FUSED[family], *(("npu_fusion_attention",) if packed else ())}
    assert {name for name in fused if not recording.fused(name)} == set(), recording.operators


def _error(found: actor.Results, expected: actor.Results, names: list[str]) -> float:
    """Return the norm of all differences over the norm of all expected values."""
    assert names
    difference = sum(float((found[name] - expected[name]).double().pow(2).sum()) for name in names)
    return float((difference / sum(float(expected[name].double().pow(2).sum()) for name in names)) ** 0.5)
