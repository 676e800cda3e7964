"""RMSNorm with a weight that is kept as its distance from 1, in one NPU operator."""

from __future__ import annotations

import torch

from .npu_kernels import FUSED_DTYPES, has_operator, npu_rms_norm, on_npu


def can_use_offset_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor) -> bool:
    """Return whether :func:`npu_offset_rms_norm` normalises as the models do, whose result has the input's dtype."""
    return (
        on_npu(hidden_states)
        and on_npu(weight)
        and weight.dtype in FUSED_DTYPES
        and hidden_states.dtype in FUSED_DTYPES
        and hidden_states.shape[-1:] == weight.shape
        and hidden_states.numel() > 0
        and has_operator("npu_rms_norm")
    )


def npu_offset_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return ``(1 + weight) * x / sqrt(mean(x²) + epsilon)`` over the last dimension.

    The sum is made in fp32, which the operator takes beside an input of any
    dtype; like the models, it then rounds once.
    """
    return npu_rms_norm(hidden_states, 1.0 + weight.float(), epsilon)
