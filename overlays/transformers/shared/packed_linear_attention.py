"""Linear attention that keeps packed sequences apart and runs on several Ulysses ranks."""

from typing import TYPE_CHECKING

from transformers.integrations.gated_delta_net import GatedDeltaNet
from transformers.integrations.packed_linear_attention import packed_length_arguments, separated_gated_delta
from transformers.integrations.ulysses import ulysses_group

from npu_overlays.markers import edited, upstream, wrapped

if TYPE_CHECKING:
    from transformers.models.qwen3_5.modeling_qwen3_5 import torch_chunk_gated_delta_rule


@edited(
    ("cache_params=past_key_values,", "cache_params=past_key_values, **packed_length_arguments(kwargs),"),
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5DecoderLayer.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeDecoderLayer.forward",
    ],
    uses=[packed_length_arguments],
    why="If a training framework enables it, linear attention receives the lengths of packed sequences; otherwise "
    "nothing changes.",
    since="5",
    until="5.10",
)
def pass_lengths(): ...


@wrapped(
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5GatedDeltaNet.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeGatedDeltaNet.forward",
    ],
    why="If a training framework enables it, each packed sequence starts with an empty state; without kernels, "
    "upstream carries the state from one sequence into the next. With a Ulysses group registered, ranks share the "
    "heads. Otherwise nothing changes.",
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
    why="If a training framework enables it, each packed sequence starts with an empty state; without kernels, "
    "upstream carries the state from one sequence into the next. With a Ulysses group registered, ranks share the "
    "heads. Otherwise nothing changes.",
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
    why="If a training framework enables it, each packed sequence starts with an empty state; without kernels, "
    "upstream refuses packed sequences. With a Ulysses group registered, ranks share the heads. Otherwise nothing "
    "changes.",
    since="5.24",
)
def forward(self, hidden_states, cache=None, attention_mask=None, **kwargs):
    lengths = kwargs.pop("packed_lengths", None)
    if lengths is None and ulysses_group() is None:
        return upstream(self, hidden_states, cache, attention_mask, **kwargs)
    net = GatedDeltaNet(self, torch_chunk_gated_delta_rule)
    return separated_gated_delta(net, hidden_states, cache, attention_mask, lengths)
