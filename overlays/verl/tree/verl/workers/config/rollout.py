"""Rollout config: the keys this overlay adds."""

from dataclasses import field

from npu_overlays.markers import added


class RolloutConfig:
    """What a rollout engine is built from."""

    spread_samples: bool | None = added(
        None,
        why="Key: whether DAPO generates the samples of one prompt on different ranks; unset, on NPU only.",
        since="0.6.0",
    )

    hybrid_tp: dict = added(
        field(default_factory=dict),
        why="Key: tensor-parallel sizes of single layers for vllm-ascend, checked before the engine starts.",
        since="0.6.0",
    )
