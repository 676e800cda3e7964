"""Figures: what was measured of one pin, model by model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# The NPU's own operators by what they take the place of, in the order to name them.
FUSED = {
    "npu_rms_norm": "RMSNorm",
    "npu_swiglu": "SwiGLU",
    "npu_rotary_mul": "rotary",
    "npu_grouped_matmul": "experts",
    "npu_moe_token_permute": "experts",
}


@dataclass(frozen=True, kw_only=True)
class Half:
    """How far results in half precision are from exact ones: the norm of all differences over that of all values.

    Args:
        error: on the emulated NPU.
        upstream: of upstream's own code on CPU.
    """

    error: float
    upstream: float

    @property
    def ratio(self) -> float:
        """The error on the NPU over upstream's own."""
        return self.error / self.upstream


@dataclass(frozen=True, kw_only=True)
class Parity:
    """How far one model is from upstream's.

    Args:
        cases: of the model, each bit for bit upstream's on CPU, outputs and gradients.
        full: the largest relative error in fp32 of any output or gradient on the emulated NPU.
        halves: of each dtype of half precision, and of autocast to one, that of outputs or gradients, whichever has
            the larger ratio.
    """

    cases: int
    full: float
    halves: Mapping[str, Half]


@dataclass(frozen=True, kw_only=True)
class Operators:
    """What one model launches on the emulated NPU.

    Args:
        upstream: for each layer, forward and backward, as upstream has it.
        ours: likewise, patched.
        fused: those of ours that are the NPU's own.
        waits: how often the host waits for the device in the whole model, as upstream has it, and patched.
    """

    upstream: float
    ours: float
    fused: float
    waits: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Pin:
    """One pin.

    Args:
        overlay: its name.
        version: upstream's.
        torch_npu: the version that was emulated.
        parity: of each model.
        operators: of each model.
    """

    overlay: str
    version: str
    torch_npu: str
    parity: Mapping[str, Parity]
    operators: Mapping[str, Operators]
