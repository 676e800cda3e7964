"""FSDP engine: value models train on the CPU too, and memory is pinned only where there is an accelerator."""

from npu_overlays.markers import edited


class FSDPEngine:
    """A model, sharded over ranks."""

    @edited(
        ("CPUOffloadPolicy(pin_memory=True)", 'CPUOffloadPolicy(pin_memory=get_device_name() != "cpu")'),
        why="Memory is pinned for an accelerator; torch refuses to pin it on a machine that has none.",
    )
    def _build_fsdp_module(self, module): ...


@edited(
    ('device=["cuda", "npu"]', 'device=["cuda", "npu", "cpu"]'),
    why="Critics of the new engine start on a CPU-only machine, as language models do.",
)
class FSDPEngineWithValueHead: ...
