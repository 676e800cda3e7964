"""Fused output layer and cross entropy: Triton kernels on CUDA only."""

from typing import TYPE_CHECKING

from verl.utils.npu.linear_cross_entropy import by_device

from npu_overlays.markers import edited, replaced

if TYPE_CHECKING:
    from verl.utils.kernel.linear_cross_entropy import LinearCrossEntropy

kernels = edited(
    ("from . import kernels", "from verl.utils.npu.lazy import triton_kernels as kernels"),
    why="Without a usable driver, importing Triton kernels fails, and upstream imports them in every Megatron run. "
    "Now they are imported on first use, on CUDA.",
    accept=["loss: only the time of the kernels' import changes, not their results"],
    until="0.6.0",
)

linear_cross_entropy = replaced(
    by_device(LinearCrossEntropy.apply),
    why="On NPU and CPU, torch computes log-probabilities and entropy, because the kernels need CUDA.",
    accept=["loss: a test compares values and gradients with torch's own; on CUDA upstream's kernels run"],
)
