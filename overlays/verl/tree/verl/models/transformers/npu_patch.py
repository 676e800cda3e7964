"""Nothing: what this module assigned at import is part of transformers-npu."""

from npu_overlays.markers import deleted

deleted("torch", why="Used only by what was assigned here.")
deleted("torch_npu", why="Used only by what was assigned here.")
deleted("apply_rotary_emb", why="Used only by what was assigned here.")
deleted("modeling_qwen2_5_vl", why="Used only by what was assigned here.")
deleted("Qwen2RMSNorm", why="Used only by what was assigned here.", until="0.6.0")
deleted(
    "apply_rotary_pos_emb_flashatt_npu",
    why="Dead code: transformers has no apply_rotary_pos_emb_flashatt any more.",
)
deleted(
    "rms_norm_forward",
    why="transformers-npu runs RMSNorm on the NPU's fused operator.",
)
deleted(
    "Qwen2RMSNorm.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    until="0.6.0",
)
deleted(
    "modeling_qwen2_5_vl.apply_rotary_pos_emb_flashatt",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
)
deleted(
    "silu_forward",
    why="transformers-npu runs the gated SiLU of Qwen2, Qwen2.5-VL and Qwen3 on the NPU's fused operator.",
    since="0.6.0",
)
deleted(
    "apply_rotary_pos_emb_npu",
    why="transformers-npu runs rotary embeddings on the NPU's fused operator.",
    since="0.6.0",
)
deleted(
    "GmmFunction",
    why="transformers-npu multiplies the experts' weights group by group, with a backward that does so too.",
    since="0.6.0",
)
deleted(
    "moe_block_forward",
    why="transformers-npu runs Qwen3-MoE's experts as grouped matrix products; this one dropped the batch dimension.",
    since="0.6.0",
)
deleted(
    "_check_and_enable_flash_attn_2",
    why="It served transformers 4.52.4 only; later versions accept FlashAttention on the NPU.",
    since="0.6.0",
)
deleted("modeling_qwen2", why="Used only by what was assigned here.", since="0.6.0")
deleted("modeling_qwen3", why="Used only by what was assigned here.", since="0.6.0")
deleted("modeling_qwen3_moe", why="Used only by what was assigned here.", since="0.6.0")
deleted("F", why="Used only by what was assigned here.", since="0.6.0")
deleted(
    "modeling_qwen2.Qwen2RMSNorm.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen2.Qwen2MLP.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen2.apply_rotary_pos_emb",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen2_5_vl.Qwen2RMSNorm.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen2_5_vl.Qwen2_5_VLMLP.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen3_moe.Qwen3MoeRMSNorm.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen3_moe.Qwen3MoeSparseMoeBlock.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen3_moe.apply_rotary_pos_emb",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen3.Qwen3RMSNorm.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "modeling_qwen3.Qwen3MLP.forward",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
deleted(
    "PreTrainedModel._check_and_enable_flash_attn_2",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
    since="0.6.0",
)
