"""FSDP workers: a configurable attention implementation."""

from verl.utils.npu.attention import attention_implementation

from npu_overlays.markers import edited


class ActorRolloutRefWorker:
    """Actor, reference and rollout of one rank."""

    @edited(
        (
            'attn_implementation="flash_attention_2"',
            'attn_implementation=attention_implementation(override_model_config.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="Key: actor_rollout_ref.model.override_config.attn_implementation chooses the attention. The default is "
        "FlashAttention as before, and torch's own attention on the CPU.",
        forwarded="https://github.com/volcengine/verl/pull/3978",
        until="0.6.1",
    )
    def _build_model_optimizer(self): ...

    @edited(
        (
            'override_model_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(override_model_config.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="On the CPU, the default attention is torch's own; upstream fails there. "
        "override_config.attn_implementation chooses another.",
        since="0.6.1",
    )
    def _build_model_optimizer(self): ...


class CriticWorker:
    """Value model of one rank."""

    @edited(
        (
            'attn_implementation="flash_attention_2"',
            'attn_implementation=attention_implementation(override_config.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="Key: critic.model.override_config.attn_implementation chooses the attention. The default is "
        "FlashAttention as before, and torch's own attention on the CPU.",
        forwarded="https://github.com/volcengine/verl/pull/3978",
        until="0.6.1",
    )
    def _build_critic_model_optimizer(self, config): ...

    @edited(
        (
            'override_config.get("attn_implementation", "flash_attention_2")',
            'attention_implementation(override_config.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="On the CPU, the default attention is torch's own; upstream fails there. "
        "override_config.attn_implementation chooses another.",
        since="0.6.1",
    )
    def _build_critic_model_optimizer(self, config): ...
