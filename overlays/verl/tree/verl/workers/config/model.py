"""Model config: an attention that runs on this device."""

from verl.utils.npu.attention import attention_implementation

from npu_overlays.markers import edited


class HFModelConfig:
    """What a model is loaded from."""

    @edited(
        (
            'self.override_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(self.override_config.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="Unless override_config.attn_implementation says otherwise, the CPU gets torch's own attention instead of "
        "an error.",
        since="0.6.0",
    )
    def __post_init__(self): ...
