"""Fully asynchronous training: a second driver, which starts the workers that generate."""

from verl.utils.npu.start import start_driver

from npu_overlays.markers import upstream, wrapped


class FullyAsyncRollouter:
    """The driver of the workers that generate."""

    @wrapped(
        why="trainer.deterministic_seed reaches the workers that generate. The trainer logs the summary, not this "
        "process.",
        since="0.6.1",
    )
    async def init_workers(self):
        start_driver(self.config)
        return await upstream(self)
