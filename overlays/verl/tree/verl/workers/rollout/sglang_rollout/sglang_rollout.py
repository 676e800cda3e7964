"""SGLang rollout: the engine is built while expandable segments are off."""

from verl.utils.device import set_expandable_segments

from npu_overlays.markers import upstream, wrapped


class SGLangRollout:
    """One process of the engine."""

    @wrapped(
        why="SGLang's memory saver refuses expandable segments; with EXPANDABLE_SEGMENTS=True they are off for it."
    )
    def _init_inference_engine(self, trust_remote_code, actor_module, port):
        set_expandable_segments(False)
        return upstream(self, trust_remote_code, actor_module, port)
