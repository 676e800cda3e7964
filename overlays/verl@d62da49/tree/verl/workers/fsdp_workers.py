"""FSDP workers: an attention that runs on this device."""

from verl.utils.npu.attention import attention_implementation  # noqa: F401  # the edits use it

from npu_overlays.markers import edited


class ActorRolloutRefWorker:
    """Actor, reference and rollout of one rank."""

    @edited(
        (
            'override_model_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(override_model_config.get("attn_implementation", None))',
        ),
        why="Unless override_config.attn_implementation says otherwise, the CPU gets torch's own attention instead of "
        "an error.",
    )
    def _build_model_optimizer(self): ...


class CriticWorker:
    """Value model of one rank."""

    @edited(
        (
            'override_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(override_config.get("attn_implementation", None))',
        ),
        why="Unless override_config.attn_implementation says otherwise, the CPU gets torch's own attention instead of "
        "an error.",
    )
    def _build_critic_model_optimizer(self, config): ...
