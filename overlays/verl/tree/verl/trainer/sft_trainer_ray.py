"""Supervised fine-tuning by workers on a Ray cluster: what happens once when training starts."""

from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="The driver logs once what was patched, and trainer.deterministic_seed makes the whole run deterministic.",
    since="0.7.1",
)
def run_sft(config):
    start_training(config)
    return upstream(config)
