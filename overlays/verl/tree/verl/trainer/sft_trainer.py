"""Supervised fine-tuning on the new engine: what happens once when training starts."""

from verl.utils.device import set_expandable_segments
from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="Rank 0 logs once what was patched; trainer.deterministic_seed and EXPANDABLE_SEGMENTS work here too.",
    since="0.6.0",
)
def run_sft(config):
    start_training(config)
    set_expandable_segments(True)
    return upstream(config)
