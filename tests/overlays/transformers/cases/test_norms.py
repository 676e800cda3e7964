"""The models' own norms on the emulated NPU: Qwen3's, OLMo's, and Qwen3-Next's with 1 + weight and with a gate."""

from __future__ import annotations

import pytest
import torch
from comparison import DTYPES, NPU, ROUNDING, assert_close, leaf
from transformers.models.olmo2.modeling_olmo2 import Olmo2RMSNorm
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm
from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextRMSNorm, Qwen3NextRMSNormGated

import emulation


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("weight_dtype", DTYPES, ids=str)
@pytest.mark.parametrize("norm", [Qwen3RMSNorm, Olmo2RMSNorm, Qwen3NextRMSNorm, Qwen3NextRMSNormGated])
def test_a_norm_returns_the_dtype_and_values_of_the_cpu(
    norm: type[torch.nn.Module], dtype: torch.dtype, weight_dtype: torch.dtype
) -> None:
    module = norm(16, 0.07)
    torch.nn.init.normal_(module.weight, mean=1.0, std=0.5)
    module = module.to(weight_dtype)
    states = leaf(3, 5, 16, dtype=dtype)
    gates = (leaf(3, 5, 16, dtype=dtype, seed=1),) if norm is Qwen3NextRMSNormGated else ()

    expected = module(states, *gates)
    with emulation.recorded() as recording:
        actual = module.to(NPU)(states.to(NPU), *(gate.to(NPU) for gate in gates))

    assert actual.dtype == expected.dtype
    # The models round to the input's dtype before they multiply by the weight.
    narrowest = max(dtype, weight_dtype, key=ROUNDING.__getitem__)
    assert_close(actual.to(narrowest), expected.to(narrowest), roundings=2)
    assert recording.fused("npu_rms_norm") == 1


def test_a_gate_is_activated_in_fp32() -> None:
    """In fp16, SiLU of -17 is off by 1.6 %."""
    module = Qwen3NextRMSNormGated(4, 0.07).half()
    torch.nn.init.constant_(module.weight, 6e4)
    states, gate = torch.ones(2, 4).half(), torch.full((2, 4), -17.0).half()

    expected = module(states, gate)

    assert expected.abs().min() > 0.01
    assert_close(module.to(NPU)(states.to(NPU), gate.to(NPU)), expected)


def test_without_a_gate_upstreams_error_is_raised() -> None:
    # In transformers 5.17 and newer a gate is required.
    with pytest.raises((AttributeError, TypeError)) as upstreams:
        Qwen3NextRMSNormGated(4)(torch.ones(2, 4))
    with pytest.raises(upstreams.type):
        Qwen3NextRMSNormGated(4).to(NPU)(torch.ones(2, 4, device=NPU))
