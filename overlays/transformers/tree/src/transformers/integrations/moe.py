"""Changes to mixtures of experts: the product and the gate that all of them share."""

from npu_overlays.markers import upstream, wrapped

from .npu_grouped_mm import can_use_grouped_mm, npu_grouped_mm
from .npu_kernels import can_use_swiglu, npu_gated


@wrapped(
    why="On NPU one grouped operator multiplies all experts, forward and backward, without waiting for the host, where "
    "PyTorch has none for this device and loops; for every model whose experts transformers dispatches.",
    drop_when="torch_npu registers PyTorch's own _grouped_mm, with a backward",
    since="5",
)
def _grouped_mm(input, weight, offs):  # noqa: A002  # upstream's name
    if can_use_grouped_mm(input, weight, offs):
        return npu_grouped_mm(input, weight, offs)
    return upstream(input, weight, offs)


@wrapped(
    why="On NPU silu(gate) * up of all experts is one fused operator, for SiLU only; elsewhere unchanged.",
    since="5",
)
def _default_apply_gate(self, gate_up_out):
    if can_use_swiglu(gate_up_out, self.act_fn):
        return npu_gated(gate_up_out)
    return upstream(self, gate_up_out)
