"""vLLM server: engine arguments of the rollout config and the user; settings without effect are refused."""

from verl.utils.npu.engine_arguments import server_arguments
from verl.workers.sharding_manager.hybrid_tp_config import HybridTPConfig

from npu_overlays.markers import edited, upstream, wrapped


class AsyncvLLMServer:
    """The server that drives one engine."""

    @edited(
        ("engine_args = AsyncEngineArgs(", "engine_args = server_arguments(AsyncEngineArgs, config,"),
        uses=[server_arguments],
        why="With rollout.mode=async too, the engine receives the user's engine_kwargs.vllm and the rollout config's "
        "prefix caching, expert parallelism and graph sizes; upstream ignores them there.",
        until="0.6.0",
    )
    async def init_engine(self): ...


class vLLMHttpServerBase:  # noqa: N801  # upstream's name
    """The server that drives one engine."""

    @wrapped(
        why="rollout.hybrid_tp has no effect on a server's engine, so setting it is an error; upstream's server would "
        "ignore it.",
        since="0.6.1",
    )
    async def launch_server(self, master_address: str = None, master_port: int = None):  # noqa: RUF013  # upstream's signature
        HybridTPConfig.from_config(self.config.get("hybrid_tp", None)).refuse_for_servers()
        return await upstream(self, master_address, master_port)
