"""PPO trainer: what happens once when training starts."""

from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


class RayPPOTrainer:
    """The driver of a training run."""

    @wrapped(
        why="The driver logs once what was patched, and trainer.deterministic_seed makes the whole run deterministic.",
    )
    def init_workers(self):
        start_training(self.config)
        return upstream(self)
