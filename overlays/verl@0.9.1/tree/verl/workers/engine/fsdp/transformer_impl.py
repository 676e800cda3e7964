"""FSDP engine: models train on the CPU too."""

from npu_overlays.markers import edited


class FSDPEngine:
    """A model, sharded, with its optimizer."""

    @edited(
        ("CPUOffloadPolicy(pin_memory=True)", 'CPUOffloadPolicy(pin_memory=device_name != "cpu")'),
        why="Without an accelerator there is nothing to pin memory for, and torch refuses it.",
        drop_when="upstream pins memory only where there is an accelerator",
    )
    def _build_fsdp_module(self, module): ...


@edited(
    ('device=["cuda", "npu"]', 'device=["cuda", "npu", "cpu"]'),
    why="Value models train on a CPU-only machine, as language models do.",
)
class FSDPEngineWithValueHead: ...
