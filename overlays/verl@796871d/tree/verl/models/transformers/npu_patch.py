"""Nothing: what this module assigned at import is part of transformers-npu."""

from npu_overlays.markers import deleted

deleted("torch", why="Used only by what was assigned here.")
deleted("torch_npu", why="Used only by what was assigned here.")
deleted("apply_rotary_emb", why="Used only by what was assigned here.")
deleted("modeling_qwen2_5_vl", why="Used only by what was assigned here.")
deleted("Qwen2RMSNorm", why="Used only by what was assigned here.")
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
)
deleted(
    "modeling_qwen2_5_vl.apply_rotary_pos_emb_flashatt",
    why="transformers-npu holds what was assigned here; nothing is assigned when verl is imported.",
)
