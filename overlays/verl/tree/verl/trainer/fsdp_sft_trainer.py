"""Supervised fine-tuning on NPU and CPU."""

from verl.utils.device import set_expandable_segments
from verl.utils.npu.attention import attention_implementation
from verl.utils.npu.start import start_training

from npu_overlays.markers import edited, upstream, wrapped


class FSDPSFTTrainer:
    """The training loop of one rank."""

    @edited(
        (
            'attn_implementation="flash_attention_2"',
            'attn_implementation=attention_implementation(self.config.model.get("attn_implementation", None))',
        ),
        uses=[attention_implementation],
        why="model.attn_implementation chooses the attention. If it is unset, the CPU uses torch's own attention; "
        "upstream fails there.",
    )
    def _build_model_optimizer(self): ...

    @edited(
        ("elif is_npu_available:", "else:"),
        why="On the CPU too, the logged loss is averaged over all ranks; upstream logs rank 0's own.",
        accept=["loss: the CPU takes upstream's branch for NPU; it averages only the logged loss, after the gradients"],
    )
    def training_step(self, batch): ...

    @edited(
        ("elif is_npu_available:", "else:"),
        why="On the CPU too, the validation loss is averaged over all ranks; upstream logs rank 0's own.",
        accept=["loss: the CPU takes upstream's branch for NPU; no gradient depends on a validation loss"],
    )
    def validation_step(self, batch): ...


@wrapped(
    why="Rank 0 logs the patch summary once; trainer.deterministic_seed and EXPANDABLE_SEGMENTS apply here too.",
)
def run_sft(config):
    start_training(config)
    set_expandable_segments(True)
    return upstream(config)
