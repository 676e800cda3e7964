"""vLLM server: settings it cannot honour are refused."""

from verl.workers.sharding_manager.hybrid_tp_config import HybridTPConfig

from npu_overlays.markers import upstream, wrapped


class vLLMHttpServerBase:  # noqa: N801  # upstream's name
    """The server that drives one engine."""

    @wrapped(why="rollout.hybrid_tp has no effect on engines behind servers: it is refused instead of ignored.")
    async def launch_server(self, master_address: str = None, master_port: int = None):  # noqa: RUF013  # upstream's signature
        HybridTPConfig.from_config(self.config.get("hybrid_tp", None)).refuse_for_servers()
        return await upstream(self, master_address, master_port)
