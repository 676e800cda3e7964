"""Supervised fine-tuning on the new engine: the start of training."""

from verl.utils.device import set_expandable_segments
from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="Rank 0 logs the patch summary once; trainer.deterministic_seed and EXPANDABLE_SEGMENTS apply here too.",
    since="0.6.0",
)
def run_sft(config):
    start_training(config)
    set_expandable_segments(True)
    return upstream(config)
