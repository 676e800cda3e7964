"""Sharding managers: expandable segments are off while the inference engine is awake, and on for training."""

from verl.utils.device import set_expandable_segments

from npu_overlays.markers import upstream, wrapped


@wrapped(
    why="SGLang's memory saver refuses expandable segments. With EXPANDABLE_SEGMENTS=True, they are switched off "
    "before it runs.",
    forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
    until="0.6.0",
    targets=[
        "verl/workers/sharding_manager/fsdp_sglang.py:FSDPSGLangShardingManager.wake_up",
        "verl/workers/sharding_manager/megatron_sglang.py:MegatronSGLangShardingManager.wake_up",
    ],
)
async def wake_up(self):
    set_expandable_segments(False)
    return await upstream(self)


@wrapped(
    why="With EXPANDABLE_SEGMENTS=True, expandable segments are switched on for training once the engine sleeps.",
    forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
    until="0.6.0",
    targets=[
        "verl/workers/sharding_manager/fsdp_sglang.py:FSDPSGLangShardingManager.sleep",
        "verl/workers/sharding_manager/megatron_sglang.py:MegatronSGLangShardingManager.sleep",
    ],
)
async def sleep(self):
    try:
        return await upstream(self)
    finally:
        set_expandable_segments(True)


@wrapped(
    why="vLLM's sleep mode refuses expandable segments. With EXPANDABLE_SEGMENTS=True, they are switched off before "
    "it runs.",
    forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
    until="0.6.0",
    targets=[
        "verl/workers/sharding_manager/fsdp_vllm.py:FSDPVLLMShardingManager.__enter__",
        "verl/workers/sharding_manager/megatron_vllm.py:MegatronVLLMShardingManager.__enter__",
    ],
)
def enter(self):
    set_expandable_segments(False)
    return upstream(self)


@wrapped(
    why="With EXPANDABLE_SEGMENTS=True, expandable segments are switched on for training once the engine sleeps.",
    forwarded="https://github.com/volcengine/verl/commit/bf56a2aa2710f5c84b6696e14d85f758140fcc51",
    until="0.6.0",
    targets=[
        "verl/workers/sharding_manager/fsdp_vllm.py:FSDPVLLMShardingManager.__exit__",
        "verl/workers/sharding_manager/megatron_vllm.py:MegatronVLLMShardingManager.__exit__",
    ],
)
def leave(self, exc_type, exc_value, traceback):
    try:
        return upstream(self, exc_type, exc_value, traceback)
    finally:
        set_expandable_segments(True)
