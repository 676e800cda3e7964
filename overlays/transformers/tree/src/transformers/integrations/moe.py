"""Changes to what all mixtures of experts share: dispatch, grouped product and gate."""

from npu_overlays.markers import upstream, wrapped

from .npu_grouped_mm import can_use_grouped_mm, npu_grouped_mm
from .npu_kernels import can_use_swiglu, npu_gated, on_npu
from .npu_moe_weights import can_use_expert_weights, expert_weights, npu_expert_weights


@wrapped(
    why="On NPU, one operator sorts tokens by expert and one restores their order, forward and backward. For dtypes "
    "without these operators, rows are gathered instead of scattered. This covers every model whose experts "
    "transformers dispatches.",
    depends=["src/transformers/integrations/moe.py:grouped_mm_experts_forward"],
    since="5",
)
def grouped_mm_experts_forward(self, hidden_states, top_k_index, top_k_weights):
    # Newer versions may normalize the experts' output.
    is_plain = top_k_index.shape == top_k_weights.shape and not getattr(self, "has_post_expert_norm", False)
    if is_plain and on_npu(hidden_states):
        experts = expert_weights(self)
        if can_use_expert_weights(hidden_states, experts, top_k_index, top_k_weights):
            return npu_expert_weights(hidden_states, experts, top_k_index, top_k_weights)
    return upstream(self, hidden_states, top_k_index, top_k_weights)


@wrapped(
    why="On NPU, one grouped operator multiplies all experts, forward and backward, without waiting for the host; "
    "PyTorch has no such operator for NPU and loops. This covers every model whose experts transformers dispatches.",
    drop_when="torch_npu registers PyTorch's own _grouped_mm, with a backward",
    since="5",
)
def _grouped_mm(input, weight, offs):  # noqa: A002  # upstream's name
    if can_use_grouped_mm(input, weight, offs):
        return npu_grouped_mm(input, weight, offs)
    return upstream(input, weight, offs)


@wrapped(
    why="On NPU, one fused operator computes silu(gate) * up; for other activations and elsewhere upstream's code "
    "runs.",
    since="5",
)
def _default_apply_gate(self, gate_up_out):
    if can_use_swiglu(gate_up_out, self.act_fn):
        return npu_gated(gate_up_out)
    return upstream(self, gate_up_out)
