"""Changes to mixtures of experts: the dispatch that all of them share, its product and its gate."""

from npu_overlays.markers import upstream, wrapped

from .npu_grouped_mm import can_use_grouped_mm, npu_grouped_mm
from .npu_kernels import can_use_swiglu, npu_gated, on_npu
from .npu_moe_weights import can_use_expert_weights, expert_weights, npu_expert_weights


@wrapped(
    why="On NPU one operator sorts tokens by expert and one puts their results back, forward and backward, where there "
    "are such for the dtype, and rows are gathered, never scattered, where not; for every model whose experts "
    "transformers dispatches.",
    depends=["src/transformers/integrations/moe.py:grouped_mm_experts_forward"],
    since="5",
)
def grouped_mm_experts_forward(self, hidden_states, top_k_index, top_k_weights):
    # Later versions may normalise what experts return.
    is_plain = top_k_index.shape == top_k_weights.shape and not getattr(self, "has_post_expert_norm", False)
    if is_plain and on_npu(hidden_states):
        experts = expert_weights(self)
        if can_use_expert_weights(hidden_states, experts, top_k_index, top_k_weights):
            return npu_expert_weights(hidden_states, experts, top_k_index, top_k_weights)
    return upstream(self, hidden_states, top_k_index, top_k_weights)


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
