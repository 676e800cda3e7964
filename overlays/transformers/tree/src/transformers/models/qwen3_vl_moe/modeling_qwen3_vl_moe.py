"""Changes to Qwen3-VL-MoE: a few grouped operators compute all experts of a layer."""

from npu_overlays.markers import upstream, wrapped

from ...integrations import npu_kernels
from ...integrations.npu_moe_weights import ExpertWeights, can_use_expert_weights, npu_expert_weights


class Qwen3VLMoeTextExperts:
    @wrapped(
        why="On NPU, a few grouped operators compute all experts without waiting for the host, each for its own "
        "tokens only. Upstream runs the experts one by one, and in evaluation each for all tokens.",
        since="4.57",
        until="5",
    )
    def forward(self, hidden_states, routing_weights, router_indices):
        if npu_kernels.can_use_swiglu(hidden_states, self.act_fn):
            tokens = hidden_states.flatten(0, -2)
            experts = ExpertWeights(up=self.gate_up_proj, down=self.down_proj, activate=npu_kernels.npu_gated)
            # Under autocast to another dtype upstream's router fails.
            dtypes = {tokens.dtype, npu_kernels.product_dtype(tokens), self.gate_up_proj.dtype, routing_weights.dtype}
            if len(dtypes) == 1 and can_use_expert_weights(tokens, experts, router_indices, routing_weights):
                weights = routing_weights.gather(1, router_indices)
                output = npu_expert_weights(tokens, experts, router_indices, weights)
                return output.view(hidden_states.shape[0], -1, hidden_states.shape[-1])
        return upstream(self, hidden_states, routing_weights, router_indices)
