"""vLLM server: the rollout config's and the user's engine arguments."""

from verl.utils.npu.engine_arguments import server_arguments  # noqa: F401  # the edit uses it

from npu_overlays.markers import edited


class AsyncvLLMServer:
    """The server that drives one engine."""

    @edited(
        ("engine_args = AsyncEngineArgs(", "engine_args = server_arguments(AsyncEngineArgs, config,"),
        why="What the user writes under engine_kwargs.vllm, and prefix caching, expert parallelism and graph sizes of "
        "the rollout config, reach the engine of rollout.mode=async too; upstream ignored them there.",
        drop_when="the pin passes engine_kwargs.vllm to the server (verl 0.6.0 does)",
    )
    async def init_engine(self): ...
