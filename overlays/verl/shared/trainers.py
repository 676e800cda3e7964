"""Trainers on a Ray cluster: the driver's start of training."""

from verl.utils.npu.start import start_driver, start_training

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="The driver logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    targets=[
        "recipe/one_step_off_policy/ray_trainer.py:OneStepOffRayTrainer.init_workers",
        "recipe/spin/spin_trainer.py:RaySPINTrainer.init_workers",
        "verl/trainer/ppo/ray_trainer.py:RayPPOTrainer.init_workers",
    ],
)
def init_workers(self):
    start_training(self.config)
    return upstream(self)


@wrapped(
    why="The driver logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    since="0.6.1",
    targets=[
        "recipe/fully_async_policy/ray_trainer.py:FullyAsyncRayPPOTrainer.init_workers",
        "recipe/transfer_queue/ray_trainer.py:RayPPOTrainer.init_workers",
    ],
)
def init_later_workers(self):
    start_training(self.config)
    return upstream(self)


@wrapped(
    why="The driver logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    since="0.7.1",
    targets=["verl/experimental/separation/ray_trainer.py:SeparateRayPPOTrainer.init_workers"],
)
def init_separated_workers(self):
    start_training(self.config)
    return upstream(self)


@wrapped(
    why="The driver logs the patch summary once, and trainer.deterministic_seed makes the whole run deterministic.",
    since="0.7.1",
    targets=["verl/experimental/fully_async_policy/fully_async_trainer.py:FullyAsyncTrainer.init_workers"],
)
async def init_trainer_workers(self):
    start_training(self.config)
    return await upstream(self)


@wrapped(
    why="trainer.deterministic_seed reaches the workers that generate. The trainer logs the summary, not this process.",
    since="0.7.1",
    targets=["verl/experimental/fully_async_policy/fully_async_rollouter.py:FullyAsyncRollouter.init_workers"],
)
async def init_rollouter_workers(self):
    start_driver(self.config)
    return await upstream(self)
