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
        why="model.attn_implementation chooses the attention; unset, the CPU gets torch's own instead of an error.",
    )
    def _build_model_optimizer(self): ...

    @edited(
        ("elif is_npu_available:", "else:"),
        why="The loss is averaged over all ranks on the CPU as well; upstream reported rank 0's own.",
        accept=["loss: the branch upstream has for NPU, and of the loss that is logged; gradients are there by then"],
    )
    def training_step(self, batch): ...

    @edited(
        ("elif is_npu_available:", "else:"),
        why="The validation loss is averaged over all ranks on the CPU as well; upstream reported rank 0's own.",
        accept=["loss: the branch that upstream has for NPU; nothing is trained on a validation loss"],
    )
    def validation_step(self, batch): ...


@wrapped(
    why="Rank 0 logs once what was patched; trainer.deterministic_seed and EXPANDABLE_SEGMENTS work here too.",
)
def run_sft(config):
    start_training(config)
    set_expandable_segments(True)
    return upstream(config)
