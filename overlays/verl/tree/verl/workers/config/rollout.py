"""Rollout config: keys that this overlay adds."""

from dataclasses import field

from npu_overlays.markers import added


class RolloutConfig:
    """The configuration of a rollout engine."""

    spread_samples: bool | None = added(
        None,
        why="Key: whether DAPO generates the samples of one prompt on different ranks; the default is to do so on NPU "
        "only.",
        since="0.6.0",
    )

    hybrid_tp: dict = added(
        field(default_factory=dict),
        why="Key: tensor-parallel sizes of individual layers for vllm-ascend, checked before the engine starts.",
        since="0.6.0",
    )
