"""vLLM server: the rollout config's and the user's engine arguments; settings it cannot honour are refused."""

from verl.utils.npu.engine_arguments import server_arguments
from verl.workers.sharding_manager.hybrid_tp_config import HybridTPConfig

from npu_overlays.markers import edited, upstream, wrapped


class AsyncvLLMServer:
    """The server that drives one engine."""

    @edited(
        ("engine_args = AsyncEngineArgs(", "engine_args = server_arguments(AsyncEngineArgs, config,"),
        uses=[server_arguments],
        why="What the user writes under engine_kwargs.vllm, and prefix caching, expert parallelism and graph sizes of "
        "the rollout config, reach the engine of rollout.mode=async too; upstream ignored them there.",
        until="0.6.0",
    )
    async def init_engine(self): ...


class vLLMHttpServerBase:  # noqa: N801  # upstream's name
    """The server that drives one engine."""

    @wrapped(
        why="rollout.hybrid_tp has no effect on engines behind servers: it is refused instead of ignored.",
        since="0.6.1",
    )
    async def launch_server(self, master_address: str = None, master_port: int = None):  # noqa: RUF013  # upstream's signature
        HybridTPConfig.from_config(self.config.get("hybrid_tp", None)).refuse_for_servers()
        return await upstream(self, master_address, master_port)
