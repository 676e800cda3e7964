"""Linear attention over packed sequences, which begin without a state, and over several ranks."""

from typing import TYPE_CHECKING

from transformers.integrations.gated_delta_net import GatedDeltaNet
from transformers.integrations.packed_linear_attention import separated_gated_delta, told_lengths
from transformers.integrations.ulysses import ulysses_group

from npu_overlays.markers import edited, upstream, wrapped

if TYPE_CHECKING:
    from transformers.models.qwen3_5.modeling_qwen3_5 import torch_chunk_gated_delta_rule


@edited(
    ("cache_params=past_key_values,", "cache_params=past_key_values, **told_lengths(kwargs),"),
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5DecoderLayer.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeDecoderLayer.forward",
    ],
    uses=[told_lengths],
    why="Linear attention is told where packed sequences begin, if a framework asked for that; otherwise unchanged.",
    since="5",
    until="5.10",
)
def tell_lengths(): ...


@wrapped(
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5GatedDeltaNet.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeGatedDeltaNet.forward",
    ],
    why="Where a framework asks for it, every packed sequence begins without a state, which upstream carries on where "
    "it has no kernels; with a Ulysses group registered ranks share the heads; otherwise unchanged.",
    since="5",
    until="5.10",
)
def forward(self, hidden_states, cache_params=None, attention_mask=None, packed_lengths=None):
    if packed_lengths is None and ulysses_group() is None:
        return upstream(self, hidden_states, cache_params, attention_mask)
    return separated_gated_delta(self, hidden_states, cache_params, attention_mask, packed_lengths)


@wrapped(
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5GatedDeltaNet.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeGatedDeltaNet.forward",
    ],
    why="Where a framework asks for it, every packed sequence begins without a state, which upstream carries on where "
    "it has no kernels; with a Ulysses group registered ranks share the heads; otherwise unchanged.",
    since="5.10",
    until="5.15",
)
def forward(self, hidden_states, cache_params=None, attention_mask=None, **kwargs):
    lengths = kwargs.pop("packed_lengths", None)
    if lengths is None and ulysses_group() is None:
        return upstream(self, hidden_states, cache_params, attention_mask, **kwargs)
    return separated_gated_delta(self, hidden_states, cache_params, attention_mask, lengths)


@wrapped(
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5GatedDeltaNet.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeGatedDeltaNet.forward",
    ],
    why="Where a framework asks for it, every packed sequence begins without a state, which upstream refuses where "
    "it has no kernels; with a Ulysses group registered ranks share the heads; otherwise unchanged.",
    since="5.24",
)
def forward(self, hidden_states, cache=None, attention_mask=None, **kwargs):
    lengths = kwargs.pop("packed_lengths", None)
    if lengths is None and ulysses_group() is None:
        return upstream(self, hidden_states, cache, attention_mask, **kwargs)
    net = GatedDeltaNet(self, torch_chunk_gated_delta_rule)
    return separated_gated_delta(net, hidden_states, cache, attention_mask, lengths)
