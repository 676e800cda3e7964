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
class PinFigures:
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


@dataclass(frozen=True, kw_only=True)
class Family:
    """What `make families` measured of one family.

    Args:
        name: as upstream calls it.
        error: why it could not be built or run with upstream's code; empty where it could.
        problem: why it failed with the wheel's code; empty where it did not.
        is_equal: whether outputs and gradients on the CPU are upstream's, bit for bit.
        is_equal_on_npu: whether those on the emulated NPU are what upstream's code gives there.
        full: the largest relative error in fp32 on the emulated NPU, beside the CPU.
        output: how far the output in bf16 is from the exact one.
        gradients: likewise all gradients together.
        fused: the NPU's own operators that ran forward.
        launches: of upstream's code and of the wheel's, forward and backward.
        is_packed: whether it takes packed sequences.
    """

    name: str
    error: str = ""
    problem: str = ""
    is_equal: bool = False
    is_equal_on_npu: bool = False
    full: float = 0.0
    output: Half = Half(error=0.0, upstream=1.0)
    gradients: Half = Half(error=0.0, upstream=1.0)
    fused: tuple[str, ...] = ()
    launches: tuple[int, int] = (0, 0)
    is_packed: bool = False

    @property
    def half(self) -> Half:
        """Of output and gradients, that which is the farther from upstream's accuracy."""
        return max(self.output, self.gradients, key=lambda one: one.ratio)
