"""Fully asynchronous training: generation is driven by a process of its own, which starts workers too."""

from verl.utils.npu.start import start_driver

from npu_overlays.markers import upstream, wrapped


class FullyAsyncRollouter:
    """The driver of the workers that generate."""

    @wrapped(
        why="trainer.deterministic_seed reaches the workers that generate; the summary is logged by the trainer.",
        since="0.6.1",
    )
    async def init_workers(self):
        start_driver(self.config)
        return await upstream(self)
