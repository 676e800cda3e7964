"""FSDP engine: language models train on the CPU too, and only those that need it are told of packed sequences."""

from verl.utils.npu.linear_attention import takes_boundaries

from npu_overlays.markers import edited


class FSDPEngine:
    @edited(
        ('"cu_seqlens" in signature(module.forward).parameters', "takes_boundaries(module)"),
        uses=[takes_boundaries],
        why="transformers-npu finds by itself where packed sequences begin, and fused kernels are not to tell it.",
        since="0.9.0",
    )
    def _build_model_optimizer(self): ...


@edited(
    ('device=["cuda", "npu"]', 'device=["cuda", "npu", "cpu"]'),
    why="The new fine-tuning trainer starts on a CPU-only machine, as the other one does.",
    since="0.6.0",
)
class FSDPEngineWithLMHead: ...
