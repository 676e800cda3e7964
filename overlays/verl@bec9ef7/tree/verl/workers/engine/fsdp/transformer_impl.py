"""FSDP engine: value models train on the CPU too, and memory is pinned only with an accelerator."""

from npu_overlays.markers import edited


class FSDPEngine:
    """A model, sharded over ranks."""

    @edited(
        ("CPUOffloadPolicy(pin_memory=True)", 'CPUOffloadPolicy(pin_memory=get_device_name() != "cpu")'),
        why="Without an accelerator, memory is not pinned, because torch refuses that.",
    )
    def _build_fsdp_module(self, module): ...


@edited(
    ('device=["cuda", "npu"]', 'device=["cuda", "npu", "cpu"]'),
    why="Value models train on a CPU-only machine, as language models do.",
)
class FSDPEngineWithValueHead: ...
