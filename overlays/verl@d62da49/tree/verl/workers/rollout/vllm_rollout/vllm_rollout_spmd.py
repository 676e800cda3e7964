"""vLLM rollout driven by a server: the engine is built while expandable segments are off."""

from verl.utils.device import set_expandable_segments

from npu_overlays.markers import upstream, wrapped


class vLLMAsyncRollout:  # noqa: N801  # upstream's name
    """One process of an engine that a server drives."""

    @wrapped(why="vLLM's sleep mode refuses expandable segments; with EXPANDABLE_SEGMENTS=True they are off for it.")
    def _init_worker(self, all_kwargs):
        set_expandable_segments(False)
        return upstream(self, all_kwargs)
