"""RMSNorm in one NPU operator, for every model that defines its own copy of it."""

from transformers.integrations.npu_kernels import can_use_rms_norm, npu_rms_norm

from npu_overlays.markers import upstream, wrapped


@wrapped(
    targets=[
        "src/transformers/models/llama/modeling_llama.py:LlamaRMSNorm.forward",
        # Also the norm of Qwen2-VL and Qwen2.5-VL, which import it.
        "src/transformers/models/qwen2/modeling_qwen2.py:Qwen2RMSNorm.forward",
        "src/transformers/models/qwen3/modeling_qwen3.py:Qwen3RMSNorm.forward",
        "src/transformers/models/qwen3_moe/modeling_qwen3_moe.py:Qwen3MoeRMSNorm.forward",
    ],
    why="On NPU one fused operator instead of six; elsewhere unchanged.",
    drop_when="transformers' kernels integration serves RMSNorm on NPU without the hub",
)
def forward(self, hidden_states):
    if can_use_rms_norm(hidden_states, self.weight):
        return npu_rms_norm(hidden_states, self.weight, self.variance_epsilon)
    return upstream(self, hidden_states)
