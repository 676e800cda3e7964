"""Model patching: what transformers-npu holds is not assigned again."""

from verl.utils.npu.attention import use_multimodal_attention, use_ulysses_attention  # noqa: F401  # the edits use them

from npu_overlays.markers import edited


@edited(
    (
        "flash_attention._flash_attention_forward = _ulysses_flash_attention_forward",
        "use_ulysses_attention(flash_attention, _ulysses_flash_attention_forward)",
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
    why="transformers-npu runs attention under Ulysses sequence parallelism by itself and is told the group; nothing "
    "it holds is assigned. Upstream's transformers is patched as before.",
)
def apply_monkey_patch(): ...
