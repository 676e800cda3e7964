"""FSDP and vLLM: expandable segments are off while the engine is awake."""

from verl.utils.device import set_expandable_segments

from npu_overlays.markers import upstream, wrapped


class FSDPVLLMShardingManager:
    """Switches the workers between training and generation."""

    @wrapped(
        why="vLLM's sleep mode refuses expandable segments; with EXPANDABLE_SEGMENTS=True they are off before.",
        forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
        drop_when="the pin holds the forwarded commit (verl 0.6.0 does)",
    )
    def __enter__(self):
        set_expandable_segments(False)
        return upstream(self)

    @wrapped(
        why="With EXPANDABLE_SEGMENTS=True, training runs with expandable segments once the engine sleeps.",
        forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
        drop_when="the pin holds the forwarded commit (verl 0.6.0 does)",
    )
    def __exit__(self, exc_type, exc_value, traceback):
        try:
            return upstream(self, exc_type, exc_value, traceback)
        finally:
            set_expandable_segments(True)
