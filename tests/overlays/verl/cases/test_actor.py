"""The actor's log-probabilities and updates: those of upstream on CPU, and close to them on the emulated NPU.

The world is one rank; `test_sharded_actor.py` has two.
"""

from __future__ import annotations

import os

import actor
import pytest
import torch
from verl.utils import device

import emulation

pytestmark = pytest.mark.usefixtures("world")


@pytest.fixture(scope="module")
def upstream() -> dict[str, actor.Results]:
    """Return what upstream's verl and transformers computed on CPU."""
    found: dict[str, actor.Results] = torch.load(os.environ["UPSTREAM_ACTOR"])
    assert found.keys() == set(actor.FAMILIES)
    return found


@pytest.mark.on_cpu
@pytest.mark.parametrize("family", actor.FAMILIES)
def test_on_cpu_every_bit_is_upstreams(family: str, upstream: dict[str, actor.Results]) -> None:
    found = actor.run(family)

    assert device.get_device_name() == "cpu"
    assert found.keys() == upstream[family].keys()
    assert [name for name, value in found.items() if not torch.equal(value, upstream[family][name])] == []


@pytest.mark.on_npu
@pytest.mark.parametrize("family", actor.FAMILIES)
@pytest.mark.parametrize(("attention", "packed"), [("eager", False), ("flash_attention_2", True)])
def test_on_the_npu_results_are_upstreams_within_rounding(
    family: str, attention: str, packed: bool, upstream: dict[str, actor.Results]
) -> None:
    expected = upstream[family]
    with emulation.recorded() as recording:
        found = actor.run(family, "npu", attention=attention, packed=packed)

    assert found.keys() == expected.keys()
    errors = actor.errors(found, expected)
    assert {kind: error for kind, error in errors.items() if error > actor.TOLERANCE} == {}, errors
    fused = {*actor.FUSED[family], *(("npu_fusion_attention",) if packed else ())}
    assert {name for name in fused if not recording.fused(name)} == set(), recording.operators
