"""Workers: the start of each process."""

import os

from verl.utils.npu import determinism

from npu_overlays.markers import upstream, wrapped


class Worker:
    """One rank of a worker group."""

    @wrapped(
        why="trainer.deterministic_seed seeds a worker's process before it builds its model.",
        accept=["seed: only if trainer.deterministic_seed is set, and differently on each rank"],
    )
    def __init__(self, cuda_visible_devices=None) -> None:
        upstream(self, cuda_visible_devices)
        determinism.seed_process(int(os.environ.get("RANK", "0")))
