"""Models: value models use the attention of their configuration."""

from npu_overlays.markers import edited


@edited(
    ('attn_implementation="flash_attention_2"', "attn_implementation=model_config._attn_implementation", 2),
    why="critic.model.override_config.attn_implementation reaches the model; upstream always loads it with "
    "FlashAttention.",
    drop_when="upstream's call takes the attention from the configuration",
)
def load_valuehead_model(): ...
