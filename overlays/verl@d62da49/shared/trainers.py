"""Trainers that came with this version: what happens once when training starts."""

from verl.utils.npu.start import start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="The driver logs once what was patched, and trainer.deterministic_seed makes the whole run deterministic.",
    targets=[
        "recipe/fully_async_policy/ray_trainer.py:FullyAsyncRayPPOTrainer.init_workers",
        "recipe/transfer_queue/ray_trainer.py:RayPPOTrainer.init_workers",
    ],
)
def init_workers(self):
    start_training(self.config)
    return upstream(self)
