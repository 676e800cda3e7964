"""FSDP workers: an attention that runs on this device, and pinned memory only where there is an accelerator."""

from verl.utils.npu.attention import attention_implementation

from npu_overlays.markers import edited


class ActorRolloutRefWorker:
    """Actor, reference and rollout of one rank."""

    @edited(
        (
            'override_model_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(override_model_config.get("attn_implementation", None))',
        ),
        ("CPUOffloadPolicy(pin_memory=True)", 'CPUOffloadPolicy(pin_memory=get_device_name() != "cpu")', 2),
        uses=[attention_implementation],
        why="Unless override_config.attn_implementation says otherwise, the CPU gets torch's own attention instead of "
        "an error; and memory is not pinned there, which torch refuses without an accelerator.",
    )
    def _build_model_optimizer(self): ...


class CriticWorker:
    """Value model of one rank."""

    @edited(
        (
            'override_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(override_config.get("attn_implementation", None))',
        ),
        ("CPUOffloadPolicy(pin_memory=True)", 'CPUOffloadPolicy(pin_memory=get_device_name() != "cpu")'),
        uses=[attention_implementation],
        why="Unless override_config.attn_implementation says otherwise, the CPU gets torch's own attention instead of "
        "an error; and memory is not pinned there, which torch refuses without an accelerator.",
    )
    def _build_critic_model_optimizer(self, config): ...
