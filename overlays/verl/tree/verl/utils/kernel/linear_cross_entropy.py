"""Fused output layer and cross entropy: Triton only where it runs."""

from typing import TYPE_CHECKING

from verl.utils.npu.linear_cross_entropy import by_device

from npu_overlays.markers import edited, replaced

if TYPE_CHECKING:
    from verl.utils.kernel.linear_cross_entropy import LinearCrossEntropy

kernels = edited(
    ("from . import kernels", "from verl.utils.npu.lazy import triton_kernels as kernels"),
    why="Triton without a usable driver fails when its kernels are imported, and every Megatron run imported them; now "
    "they are imported where they run, on CUDA.",
    accept=["loss: only when the kernels are imported changes, not what they compute"],
    until="0.6.0",
)

linear_cross_entropy = replaced(
    by_device(LinearCrossEntropy.apply),
    why="On NPU and CPU log-probabilities and entropy are computed in torch: the kernels are for CUDA only.",
    accept=["loss: a test compares values and gradients with torch's own; on CUDA upstream's kernels run"],
)
