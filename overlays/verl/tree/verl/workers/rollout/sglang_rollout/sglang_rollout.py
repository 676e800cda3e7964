"""SGLang rollout: expandable segments are off while the engine is built."""

from verl.utils.device import set_expandable_segments

from npu_overlays.markers import upstream, wrapped


class SGLangRollout:
    """One process of the engine."""

    @wrapped(
        why="SGLang's memory saver refuses expandable segments. With EXPANDABLE_SEGMENTS=True, they are switched off "
        "before it runs.",
    )
    def _init_inference_engine(self, trust_remote_code, actor_module, port):
        set_expandable_segments(False)
        return upstream(self, trust_remote_code, actor_module, port)
