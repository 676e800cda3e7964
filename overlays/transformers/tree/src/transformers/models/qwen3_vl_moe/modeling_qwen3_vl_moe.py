"""Changes to Qwen3-VL-MoE: all experts of a layer in a few grouped operators."""

from npu_overlays.markers import upstream, wrapped

from ...integrations.npu_moe_weights import can_use_expert_weights, npu_expert_weights


class Qwen3VLMoeTextExperts:
    @wrapped(
        why="On NPU all experts run in a few grouped operators, without waiting for the host, for the tokens they were "
        "chosen for, instead of one by one; and in evaluation not for all tokens.",
        since="4.57",
        until="5",
    )
    def forward(self, hidden_states, routing_weights, router_indices):
        parts = (self.gate_up_proj, self.down_proj)
        if not can_use_expert_weights(hidden_states, *parts, self.act_fn, routing_weights):
            return upstream(self, hidden_states, routing_weights, router_indices)
        weights = routing_weights.gather(1, router_indices)
        output = npu_expert_weights(hidden_states.flatten(0, -2), *parts, router_indices, weights)
        return output.view(hidden_states.shape[0], -1, hidden_states.shape[-1])
