"""The rollout as verl knows it: in a trainer's process what hands weights over, in the driver what starts servers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import ray
import torch
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica

from npu_recipes.cpu.plugin import NAME, threads
from npu_recipes.cpu.server import Server, Settings


def _server(replica: int) -> str:
    return f"{NAME}_server_{replica}_0"


class Rollout(BaseRollout):  # type: ignore[misc]  # verl is not typed
    """A trainer's side: each rank has part of the weights, one of those that share a server hands over all of them."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, replica_rank: int = -1, **_: Any) -> None:
        super().__init__(config, model_config, device_mesh)
        rank, size = int(os.environ["RANK"]), world_size(self.config)
        self._replica = rank // size if replica_rank < 0 else replica_rank
        self._hands_over = rank % size == 0

    async def resume(self, tags: list[str]) -> None:
        """Do nothing: servers keep no memory of a device."""

    async def release(self) -> None:
        """Do nothing: there is no memory to release."""

    async def update_weights(
        self, weights: Iterable[tuple[str, torch.Tensor]], global_steps: int | None = None, **_: Any
    ) -> None:
        """Hand the weights to the server.

        Every rank has to go through them: each is put together by all ranks when it is asked for.
        """
        kept = {}
        for name, tensor in weights:
            if self._hands_over:
                kept[name] = tensor.detach().to("cpu", copy=True)
        if self._hands_over:
            await ray.get_actor(_server(self._replica)).load.remote(kept, global_steps)


class Replica(RolloutReplica):  # type: ignore[misc]  # verl is not typed
    """The driver's side: starts one server, without any device."""

    async def launch_servers(self) -> None:
        """Start the server, and wait until it has its model."""
        name = _server(self.replica_rank)
        server = ray.remote(Server).options(name=name, num_cpus=0, max_concurrency=self.max_concurrency)
        settings = Settings(
            path=os.path.expanduser(self.model_config["path"]),  # noqa: PTH111  # a name on the hub is no path
            dtype=self.config.dtype,
            seed=self.config.seed + self.replica_rank,
            length=self.config.response_length,
            threads=threads(os.environ),
            trust_remote_code=bool(self.model_config.get("trust_remote_code", False)),
        )
        handle = server.remote(settings)
        await handle.clear_kv_cache.remote()
        self.servers, self._server_handle, self._server_address = [handle], handle, name


def world_size(config: Any) -> int:
    """Return how many ranks share a server."""
    size: int = config.tensor_model_parallel_size * config.data_parallel_size * config.pipeline_model_parallel_size
    return size
