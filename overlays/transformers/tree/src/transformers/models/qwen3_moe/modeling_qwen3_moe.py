"""Changes to Qwen3-MoE: a few grouped operators compute all experts of a layer."""

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F

from npu_overlays.markers import upstream, wrapped

from ...integrations.npu_moe import can_use_grouped_experts, npu_grouped_experts

if TYPE_CHECKING:
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeMLP


class Qwen3MoeSparseMoeBlock:
    @wrapped(
        why="On NPU, a few grouped operators compute all experts without waiting for the host; upstream runs the "
        "experts one by one.",
        until="5",
    )
    def forward(self, hidden_states):
        if not can_use_grouped_experts(hidden_states, self.experts, Qwen3MoeMLP):
            return upstream(self, hidden_states)
        tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
        router_logits = self.gate(tokens)
        weights, selected = F.softmax(router_logits, dim=-1, dtype=torch.float).topk(self.top_k, dim=-1)
        if self.norm_topk_prob:
            weights = weights / weights.sum(dim=-1, keepdim=True)
        output = npu_grouped_experts(tokens, self.experts, selected, weights.to(tokens.dtype))
        return output.view(hidden_states.shape), router_logits
