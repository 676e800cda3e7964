"""FSDP workers: the default attention runs on this device, and memory is pinned only with an accelerator."""

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
        why="On the CPU, the default attention is torch's own, and memory is not pinned, because torch refuses that "
        "without an accelerator; upstream fails there. override_config.attn_implementation chooses another attention.",
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
        why="On the CPU, the default attention is torch's own, and memory is not pinned, because torch refuses that "
        "without an accelerator; upstream fails there. override_config.attn_implementation chooses another attention.",
    )
    def _build_critic_model_optimizer(self, config): ...
