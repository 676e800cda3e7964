"""Gated MLPs: SiLU and its product with `up` run as one NPU operator; other activations are upstream's."""

from transformers.integrations.npu_kernels import can_use_swiglu, npu_gated, npu_swiglu

from npu_overlays.markers import like, upstream, wrapped


@wrapped(
    targets=like(
        "src/transformers/models/llama/modeling_llama.py:LlamaMLP.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator computes silu(gate) * up; for other activations and elsewhere upstream's code "
    "runs.",
)
def forward(self, x):
    if can_use_swiglu(x, self.act_fn):
        return self.down_proj(npu_swiglu(self.gate_proj(x), self.up_proj(x)))
    return upstream(self, x)


@wrapped(
    targets=like(
        "src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py:Qwen2_5_VLMLP.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator computes silu(gate) * up; for other activations and elsewhere upstream's code "
    "runs.",
)
def vision_forward(self, hidden_state):
    if can_use_swiglu(hidden_state, self.act_fn):
        return self.down_proj(npu_swiglu(self.gate_proj(hidden_state), self.up_proj(hidden_state)))
    return upstream(self, hidden_state)


@wrapped(
    targets=like(
        "src/transformers/models/phi3/modeling_phi3.py:Phi3MLP.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator computes silu(gate) * up; for other activations and elsewhere upstream's code "
    "runs.",
)
def packed_forward(self, hidden_states):
    if can_use_swiglu(hidden_states, self.activation_fn):
        return self.down_proj(npu_gated(self.gate_up_proj(hidden_states)))
    return upstream(self, hidden_states)
