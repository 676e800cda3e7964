"""Trainers: the start of training."""

from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="Rank 0 logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    targets=["verl/trainer/sft_trainer.py:run_sft"],
)
def run_sft(config):
    start_training(config)
    return upstream(config)


@wrapped(
    why="The driver logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    targets=["verl/trainer/ppo/v1/trainer_base.py:PPOTrainer.init"],
)
def init(self):
    start_training(self.config)
    return upstream(self)
