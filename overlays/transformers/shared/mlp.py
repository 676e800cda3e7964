"""The gated MLP with its activation in one NPU operator; only for SiLU, whatever the projections are."""

from transformers.integrations.npu_kernels import can_use_swiglu, npu_swiglu

from npu_overlays.markers import upstream, wrapped


@wrapped(
    targets=[
        "src/transformers/models/llama/modeling_llama.py:LlamaMLP.forward",
        "src/transformers/models/qwen2/modeling_qwen2.py:Qwen2MLP.forward",
        "src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py:Qwen2MLP.forward",
        "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:Qwen2MLP.forward",
        "src/transformers/models/qwen3/modeling_qwen3.py:Qwen3MLP.forward",
        "src/transformers/models/qwen3_moe/modeling_qwen3_moe.py:Qwen3MoeMLP.forward",
    ],
    why="On NPU silu(gate) * up is one fused operator, for SiLU only; elsewhere unchanged.",
)
def forward(self, x):
    if can_use_swiglu(x, self.act_fn):
        return self.down_proj(npu_swiglu(self.gate_proj(x), self.up_proj(x)))
    return upstream(self, x)


@wrapped(
    targets=["src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py:Qwen2_5_VLMLP.forward"],
    why="On NPU silu(gate) * up is one fused operator, for SiLU only; elsewhere unchanged.",
)
def vision_forward(self, hidden_state):
    if can_use_swiglu(hidden_state, self.act_fn):
        return self.down_proj(npu_swiglu(self.gate_proj(hidden_state), self.up_proj(hidden_state)))
    return upstream(self, hidden_state)


@wrapped(
    targets=[
        "src/transformers/models/qwen3_next/modeling_qwen3_next.py:Qwen3NextMLP.forward",
        "src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLTextMLP.forward",
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeTextMLP.forward",
    ],
    why="On NPU silu(gate) * up is one fused operator, for SiLU only; elsewhere unchanged.",
    since="4.57",
)
def forward(self, x):
    if can_use_swiglu(x, self.act_fn):
        return self.down_proj(npu_swiglu(self.gate_proj(x), self.up_proj(x)))
    return upstream(self, x)


@wrapped(
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5MLP.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeMLP.forward",
    ],
    why="On NPU silu(gate) * up is one fused operator, for SiLU only; elsewhere unchanged.",
    since="5",
)
def forward(self, x):
    if can_use_swiglu(x, self.act_fn):
        return self.down_proj(npu_swiglu(self.gate_proj(x), self.up_proj(x)))
    return upstream(self, x)
