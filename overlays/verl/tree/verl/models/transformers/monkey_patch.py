"""Model patching: nothing that transformers-npu contains is patched at run time."""

from typing import TYPE_CHECKING

import torch
from verl.utils.npu.attention import (
    is_sliced,
    mark_sliced,
    use_multimodal_attention,
    use_ulysses_attention,
)
from verl.utils.npu.images import use_mixed_batches, use_position_lookup
from verl.utils.npu.linear_attention import separate_packed_sequences, use_separate_sequences

from npu_overlays.markers import edited, replaced, upstream, wrapped

if TYPE_CHECKING:
    from transformers.modeling_flash_attention_utils import _flash_attention_forward
    from verl.models.transformers.monkey_patch import repeat_kv
    from verl.utils.ulysses import (
        gather_heads_scatter_seq,
        gather_seq_scatter_heads,
        get_ulysses_sequence_parallel_group,
        get_ulysses_sequence_parallel_world_size,
    )


@replaced(
    why="transformers 4.55 and newer derive sequence boundaries from query_length, which must be the gathered length. "
    "Upstream passes the length of one rank's slice, so attention mixes packed sequences. Vision towers have no "
    "position ids and run without sequence parallelism.",
    forwarded="https://github.com/volcengine/verl/commit/9b6a07fa77654372c457bd16dc89fe3ab10310ed",
    until="0.6.1",
)
def _ulysses_flash_attention_forward(
    query_states: torch.Tensor,
    key_states: torch.Tensor,
    value_states: torch.Tensor,
    attention_mask: torch.Tensor | None,
    query_length: int,
    *args,
    position_ids: torch.Tensor | None = None,
    **kwargs,
):
    """Return flash attention over whole sequences and this rank's heads, given this rank's slice of each sequence.

    Args:
        query_states (torch.Tensor): (batch, length / sp, heads, head_dim)
        key_states (torch.Tensor): (batch, length / sp, kv_heads, head_dim)
        value_states (torch.Tensor): (batch, length / sp, kv_heads, head_dim)
        attention_mask (torch.Tensor, optional): passed on unchanged
        query_length (int): length of query_states; attention receives the gathered length
        position_ids (torch.Tensor, optional): (batch, length / sp); without them nothing is gathered

    Returns:
        torch.Tensor: (batch, length / sp, heads, head_dim)
    """
    sp_size = get_ulysses_sequence_parallel_world_size()
    if sp_size == 1 or position_ids is None:
        return _flash_attention_forward(
            query_states,
            key_states,
            value_states,
            attention_mask,
            query_length,
            *args,
            position_ids=position_ids,
            **kwargs,
        )
    # If there are fewer key-value heads than ranks, several ranks share each head.
    repeats = max(sp_size // key_states.size(2), 1)
    states = (query_states, repeat_kv(key_states, repeats), repeat_kv(value_states, repeats))
    query, key, value = (gather_seq_scatter_heads(state, seq_dim=1, head_dim=2) for state in states)
    shares = [torch.empty_like(position_ids) for _ in range(sp_size)]
    torch.distributed.all_gather(shares, position_ids.contiguous(), group=get_ulysses_sequence_parallel_group())
    output = _flash_attention_forward(
        query, key, value, attention_mask, query.size(1), *args, position_ids=torch.cat(shares, dim=-1), **kwargs
    )
    return gather_heads_scatter_seq(output, seq_dim=1, head_dim=2)


@wrapped(
    why="transformers-npu slices the inputs of vision-language models itself. Other model classes are patched once, "
    "even if actor, reference and critic share the class.",
)
def patch_vlm_for_ulysses_input_slicing(model_class: type):
    if not is_sliced(model_class):
        upstream(model_class)
        mark_sliced(model_class)


@edited(
    (
        "flash_attention._flash_attention_forward = _ulysses_flash_attention_forward",
        "use_ulysses_attention(flash_attention, _ulysses_flash_attention_forward, model, ulysses_sp_size)",
    ),
    ('print(f"Monkey patch _flash_attention_forward in {flash_attention.__name__}")', ""),
    (
        "Qwen2_5_VLAttention.forward = ulysses_flash_attn_forward",
        "use_multimodal_attention(Qwen2_5_VLAttention, ulysses_flash_attn_forward)",
    ),
    ('print("Monkey patch FlashAttention2.forward in Qwen2.5VL")', ""),
    (
        "Qwen2VLAttention.forward = ulysses_flash_attn_forward",
        "use_multimodal_attention(Qwen2VLAttention, ulysses_flash_attn_forward)",
    ),
    ('print("Monkey patch FlashAttention2.forward in Qwen2VL")', ""),
    uses=[use_multimodal_attention, use_ulysses_attention],
    why="transformers-npu itself supports Ulysses sequence parallelism; verl registers the process group. With "
    "upstream's transformers, verl patches attention as before.",
    until="0.6.0",
)
def apply_monkey_patch(): ...


@edited(
    (
        "flash_attention._flash_attention_forward = _ulysses_flash_attention_forward",
        "use_ulysses_attention(flash_attention, _ulysses_flash_attention_forward, model, ulysses_sp_size)",
    ),
    ('print(f"Monkey patch _flash_attention_forward in {flash_attention.__name__}")', ""),
    (
        "Qwen2_5_VLAttention.forward = qwen2_vl_attn_forward",
        "use_multimodal_attention(Qwen2_5_VLAttention, qwen2_vl_attn_forward)",
    ),
    (
        (
            "Qwen2VLAttention.forward = qwen2_vl_attn_forward\n"
            'print(f"Monkey patch {model.__class__.__name__} attention layer")'
        ),
        "use_multimodal_attention(Qwen2VLAttention, qwen2_vl_attn_forward)",
    ),
    ("Qwen2_5_VLModel.forward = qwen2_vl_base_forward", "use_mixed_batches(Qwen2_5_VLModel, qwen2_vl_base_forward)"),
    ("Qwen2VLModel.forward = qwen2_vl_base_forward", "use_mixed_batches(Qwen2VLModel, qwen2_vl_base_forward)"),
    (
        "Qwen2_5_VLForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen2_5_VLForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        (
            "Qwen2VLForConditionalGeneration.forward = forward_with_normal_backend\n"
            'print(f"Monkey patch {model.__class__.__name__} model forward")'
        ),
        "use_mixed_batches(Qwen2VLForConditionalGeneration, forward_with_normal_backend)",
    ),
    ("Qwen3VLModel.forward = qwen3_vl_base_forward", "use_mixed_batches(Qwen3VLModel, qwen3_vl_base_forward)"),
    ("Qwen3VLMoeModel.forward = qwen3_vl_base_forward", "use_mixed_batches(Qwen3VLMoeModel, qwen3_vl_base_forward)"),
    (
        "Qwen3VLForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen3VLForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        "Qwen3VLMoeForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen3VLMoeForConditionalGeneration, forward_with_normal_backend)",
    ),
    ("Glm4vModel.forward = glm4v_base_forward", "use_mixed_batches(Glm4vModel, glm4v_base_forward)"),
    (
        (
            "Glm4vForConditionalGeneration.forward = forward_with_normal_backend\n"
            'print(f"Monkey patch {model.__class__.__name__} model forward")'
        ),
        "use_mixed_batches(Glm4vForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        (
            "Glm4vTextAttention.forward = glm4v_attn_forward\n"
            'print(f"Monkey patch {model.__class__.__name__} attention layer")'
        ),
        "use_multimodal_attention(Glm4vTextAttention, glm4v_attn_forward)",
    ),
    uses=[use_mixed_batches, use_multimodal_attention, use_ulysses_attention],
    why="transformers-npu itself supports Ulysses sequence parallelism and vision towers for batches without images; "
    "verl switches both on. With upstream's transformers, verl patches models as before.",
    since="0.6.0",
    until="0.9.0",
)
def apply_monkey_patch(): ...


@edited(
    (
        "flash_attention._flash_attention_forward = _ulysses_flash_attention_forward",
        (
            "use_ulysses_attention(flash_attention, _ulysses_flash_attention_forward, model, ulysses_sp_size)\n"
            "separate_packed_sequences()"
        ),
    ),
    ('print(f"Monkey patch _flash_attention_forward in {flash_attention.__name__}")', ""),
    (
        "Qwen2_5_VLAttention.forward = qwen2_vl_attn_forward",
        "use_multimodal_attention(Qwen2_5_VLAttention, qwen2_vl_attn_forward)",
    ),
    (
        (
            "Qwen2VLAttention.forward = qwen2_vl_attn_forward\n"
            'print(f"Monkey patch {model.__class__.__name__} attention layer")'
        ),
        "use_multimodal_attention(Qwen2VLAttention, qwen2_vl_attn_forward)",
    ),
    ("Qwen2_5_VLModel.forward = qwen2_vl_base_forward", "use_mixed_batches(Qwen2_5_VLModel, qwen2_vl_base_forward)"),
    ("Qwen2VLModel.forward = qwen2_vl_base_forward", "use_mixed_batches(Qwen2VLModel, qwen2_vl_base_forward)"),
    (
        "Qwen2_5_VLForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen2_5_VLForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        (
            "Qwen2VLForConditionalGeneration.forward = forward_with_normal_backend\n"
            'print(f"Monkey patch {model.__class__.__name__} model forward")'
        ),
        "use_mixed_batches(Qwen2VLForConditionalGeneration, forward_with_normal_backend)",
    ),
    ("Qwen3VLModel.forward = qwen3_vl_base_forward", "use_mixed_batches(Qwen3VLModel, qwen3_vl_base_forward)"),
    ("Qwen3VLMoeModel.forward = qwen3_vl_base_forward", "use_mixed_batches(Qwen3VLMoeModel, qwen3_vl_base_forward)"),
    (
        "Qwen3VLForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen3VLForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        "Qwen3VLMoeForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen3VLMoeForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        "Qwen3VLMoeVisionModel.fast_pos_embed_interpolate = fast_pos_embed_interpolate",
        "use_position_lookup(Qwen3VLMoeVisionModel, fast_pos_embed_interpolate)",
    ),
    (
        (
            "Qwen3VLVisionModel.fast_pos_embed_interpolate = fast_pos_embed_interpolate\n"
            'print(f"Monkey patch {model.__class__.__name__} model forward")'
        ),
        "use_position_lookup(Qwen3VLVisionModel, fast_pos_embed_interpolate)",
    ),
    ("Glm4vModel.forward = glm4v_base_forward", "use_mixed_batches(Glm4vModel, glm4v_base_forward)"),
    (
        (
            "Glm4vForConditionalGeneration.forward = forward_with_normal_backend\n"
            'print(f"Monkey patch {model.__class__.__name__} model forward")'
        ),
        "use_mixed_batches(Glm4vForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        (
            "Glm4vTextAttention.forward = glm4v_attn_forward\n"
            'print(f"Monkey patch {model.__class__.__name__} attention layer")'
        ),
        "use_multimodal_attention(Glm4vTextAttention, glm4v_attn_forward)",
    ),
    ("Qwen3_5Model.forward = qwen3_5_base_forward", "use_mixed_batches(Qwen3_5Model, qwen3_5_base_forward)"),
    ("Qwen3_5MoeModel.forward = qwen3_5_base_forward", "use_mixed_batches(Qwen3_5MoeModel, qwen3_5_base_forward)"),
    (
        "Qwen3_5ForConditionalGeneration.forward = forward_with_normal_backend",
        "use_mixed_batches(Qwen3_5ForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        (
            "Qwen3_5MoeForConditionalGeneration.forward = forward_with_normal_backend\n"
            'print(f"Monkey patch {model.__class__.__name__} model forward")'
        ),
        "use_mixed_batches(Qwen3_5MoeForConditionalGeneration, forward_with_normal_backend)",
    ),
    (
        "Qwen3_5DecoderLayer.forward = qwen3_5_decoder_layer_forward",
        "use_separate_sequences(Qwen3_5DecoderLayer, qwen3_5_decoder_layer_forward)",
    ),
    (
        "Qwen3_5MoeDecoderLayer.forward = qwen3_5_decoder_layer_forward",
        "use_separate_sequences(Qwen3_5MoeDecoderLayer, qwen3_5_decoder_layer_forward)",
    ),
    (
        "Qwen3_5GatedDeltaNet.forward = qwen3_5_gated_delta_net_forward",
        "use_separate_sequences(Qwen3_5GatedDeltaNet, qwen3_5_gated_delta_net_forward)",
    ),
    (
        "Qwen3_5MoeGatedDeltaNet.forward = qwen3_5_gated_delta_net_forward",
        "use_separate_sequences(Qwen3_5MoeGatedDeltaNet, qwen3_5_gated_delta_net_forward)",
    ),
    (
        "Qwen3_5VisionModel.fast_pos_embed_interpolate = fast_pos_embed_interpolate",
        "use_position_lookup(Qwen3_5VisionModel, fast_pos_embed_interpolate)",
    ),
    (
        "Qwen3_5MoeVisionModel.fast_pos_embed_interpolate = fast_pos_embed_interpolate",
        "use_position_lookup(Qwen3_5MoeVisionModel, fast_pos_embed_interpolate)",
    ),
    uses=[
        separate_packed_sequences,
        use_mixed_batches,
        use_multimodal_attention,
        use_position_lookup,
        use_separate_sequences,
        use_ulysses_attention,
    ],
    why="transformers-npu itself supports Ulysses sequence parallelism, vision towers for batches without images, and "
    "linear attention over packed sequences; verl switches them on. With upstream's transformers, verl patches models "
    "as before.",
    since="0.9.0",
)
def apply_monkey_patch(): ...
