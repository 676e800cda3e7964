"""Model config: the default attention runs on this device."""

from verl.utils.npu.attention import attention_implementation

from npu_overlays.markers import edited


class HFModelConfig:
    """The configuration of a Hugging Face model."""

    @edited(
        (
            'self.override_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(self.override_config.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="On the CPU, the default attention is torch's own; upstream fails there. "
        "override_config.attn_implementation chooses another.",
        since="0.6.0",
    )
    def __post_init__(self): ...
