"""RMSNorm as one NPU operator, in every model that defines its own copy."""

from typing import TYPE_CHECKING

import torch
from transformers.integrations.npu_kernels import can_use_rms_norm, npu_offset_rms_norm, npu_rms_norm

from npu_overlays.markers import like, upstream, wrapped

if TYPE_CHECKING:
    from transformers.activations import ACT2FN


@wrapped(
    targets=like(
        "src/transformers/models/llama/modeling_llama.py:LlamaRMSNorm.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces six; elsewhere upstream's code runs.",
    drop_when="transformers' kernels integration provides RMSNorm on NPU without the Hub",
    accept=("seed: SeedOss is the name of a model.",),
)
def forward(self, hidden_states):
    if can_use_rms_norm(hidden_states, self.weight):
        return npu_rms_norm(hidden_states, self.weight, self.variance_epsilon)
    return upstream(self, hidden_states)


@wrapped(
    targets=like(
        "src/transformers/models/helium/modeling_helium.py:HeliumRMSNorm.forward",
        "src/transformers/models/olmo2/modeling_olmo2.py:Olmo2RMSNorm.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces six and rounds once, to the input's dtype; elsewhere upstream's code "
    "runs.",
)
def late_forward(self, hidden_states):
    if can_use_rms_norm(hidden_states, self.weight):
        return npu_rms_norm(hidden_states, self.weight, self.variance_epsilon).to(hidden_states.dtype)
    return upstream(self, hidden_states)


@wrapped(
    targets=like(
        "src/transformers/models/gemma/modeling_gemma.py:GemmaRMSNorm.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces six in norms that multiply by 1 + weight; elsewhere upstream's code runs.",
)
def offset_forward(self, x):
    if can_use_rms_norm(x, self.weight):
        return npu_offset_rms_norm(x, self.weight, self.eps)
    return upstream(self, x)


@wrapped(
    targets=like(
        "src/transformers/models/gemma3n/modeling_gemma3n.py:Gemma3nRMSNorm.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces six where the norm has a weight; elsewhere upstream's code runs.",
    since="5.5",
)
def scaled_forward(self, hidden_states):
    if self.with_scale and can_use_rms_norm(hidden_states, self.weight):
        return npu_rms_norm(hidden_states, self.weight, self.eps).to(hidden_states.dtype)
    return upstream(self, hidden_states)


@wrapped(
    targets=like(
        "src/transformers/models/qwen3_next/modeling_qwen3_next.py:Qwen3NextRMSNormGated.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces six in the norm before the gate; elsewhere upstream's code runs.",
    since="4.57",
    until="5.17",
)
def gated_forward(self, hidden_states, gate=None):
    if gate is not None and can_use_rms_norm(hidden_states, self.weight):
        normed = npu_rms_norm(hidden_states, self.weight, self.variance_epsilon)
        return (normed * torch.nn.functional.silu(gate.to(torch.float32))).to(hidden_states.dtype)
    return upstream(self, hidden_states, gate)


@wrapped(
    targets=like(
        "src/transformers/models/qwen3_next/modeling_qwen3_next.py:Qwen3NextRMSNormGated.forward",
        within="src/transformers/models/*/modeling_*.py",
    ),
    why="On NPU, one fused operator replaces six in the norm before the gate; elsewhere upstream's code runs.",
    since="5.17",
)
def gated_forward(self, hidden_states, gate):
    if can_use_rms_norm(hidden_states, self.weight):
        normed = npu_rms_norm(hidden_states, self.weight, self.variance_epsilon)
        return (normed * ACT2FN[self.activation](gate.to(torch.float32))).to(hidden_states.dtype)
    return upstream(self, hidden_states, gate)
