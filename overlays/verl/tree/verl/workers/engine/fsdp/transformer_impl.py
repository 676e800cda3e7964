"""FSDP engine: language models train on the CPU too."""

from npu_overlays.markers import edited


@edited(
    ('device=["cuda", "npu"]', 'device=["cuda", "npu", "cpu"]'),
    why="The new fine-tuning trainer starts on a CPU-only machine, as the other one does.",
    since="0.6.0",
)
class FSDPEngineWithLMHead: ...
