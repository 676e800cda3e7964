"""Workers: the start of each process."""

from verl.utils.npu.start import start_worker

from npu_overlays.markers import upstream, wrapped


class Worker:
    """One rank of a worker group."""

    @wrapped(
        why="Before a worker builds its model, trainer.deterministic_seed seeds its process, and "
        "EXPANDABLE_SEGMENTS=True switches expandable segments on, even if no inference engine shares the process.",
    )
    def __init__(self, cuda_visible_devices=None) -> None:
        upstream(self, cuda_visible_devices)
        start_worker()
