"""Workers: what happens once in each process."""

import os

from verl.utils.npu import determinism

from npu_overlays.markers import upstream, wrapped


class Worker:
    """One rank of a worker group."""

    @wrapped(
        why="Before a worker builds its model, trainer.deterministic_seed seeds its process.",
        accept=["seed: only where trainer.deterministic_seed asks for it, each rank differently"],
    )
    def __init__(self, cuda_visible_devices=None) -> None:
        upstream(self, cuda_visible_devices)
        determinism.seed_process(int(os.environ.get("RANK", "0")))
