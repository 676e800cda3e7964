"""FSDP engine: language models train on the CPU too; only models that need them receive sequence boundaries."""

from verl.utils.npu.linear_attention import takes_boundaries

from npu_overlays.markers import edited


class FSDPEngine:
    @edited(
        ('"cu_seqlens" in signature(module.forward).parameters', "takes_boundaries(module)"),
        uses=[takes_boundaries],
        why="transformers-npu itself finds where packed sequences begin, so fused kernels need not pass the "
        "boundaries.",
        since="0.9.0",
    )
    def _build_model_optimizer(self): ...


@edited(
    ('device=["cuda", "npu"]', 'device=["cuda", "npu", "cpu"]'),
    why="The new fine-tuning trainer runs on a CPU-only machine, as the old one does.",
    since="0.6.0",
)
class FSDPEngineWithLMHead: ...
