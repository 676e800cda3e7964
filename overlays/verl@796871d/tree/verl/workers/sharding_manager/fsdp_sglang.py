"""FSDP and SGLang: expandable segments are off while the engine is awake."""

from verl.utils.device import set_expandable_segments

from npu_overlays.markers import upstream, wrapped


class FSDPSGLangShardingManager:
    """Switches the workers between training and generation."""

    @wrapped(
        why="SGLang's memory saver refuses expandable segments; with EXPANDABLE_SEGMENTS=True they are off before it "
        "wakes.",
        forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
        drop_when="the pin holds the forwarded commit (verl 0.6.0 does)",
    )
    async def wake_up(self):
        set_expandable_segments(False)
        return await upstream(self)

    @wrapped(
        why="With EXPANDABLE_SEGMENTS=True, training runs with expandable segments once the engine sleeps.",
        forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
        drop_when="the pin holds the forwarded commit (verl 0.6.0 does)",
    )
    async def sleep(self):
        try:
            return await upstream(self)
        finally:
            set_expandable_segments(True)
