"""Supervised fine-tuning on a Ray cluster: the driver's start of training."""

from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="The driver logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    since="0.7.1",
)
def run_sft(config):
    start_training(config)
    return upstream(config)
