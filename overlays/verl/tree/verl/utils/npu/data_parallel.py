"""Data-parallel vLLM engines in one training world: from sizes to the environment variables that vLLM reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from verl.utils.npu.ports import held_ports

# Each start of a data-parallel group uses the next port after the master port.
PORTS_PER_GROUP = 4


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The position of one process among the inference engines.

    Args:
        world_size: number of processes in the training world.
        rank: rank of this process.
        tensor_parallel: number of ranks of one engine.
        data_parallel: number of engines that answer one batch together.
    """

    world_size: int
    rank: int
    tensor_parallel: int
    data_parallel: int

    def check(self) -> None:
        """Raise ValueError unless the world is a whole number of data-parallel groups."""
        ranks = self.tensor_parallel * self.data_parallel
        if min(self.tensor_parallel, self.data_parallel) < 1 or self.world_size % ranks:
            raise ValueError(
                f"rollout.data_parallel_size ({self.data_parallel}) x rollout.tensor_model_parallel_size "
                f"({self.tensor_parallel}) = {ranks} does not divide the world of {self.world_size} processes"
            )

    @property
    def data_parallel_rank(self) -> int:
        """The number of this process's engine within its data-parallel group."""
        return self.rank // self.tensor_parallel % self.data_parallel

    @property
    def leader(self) -> int:
        """The rank that chooses the address and the port of this process's data-parallel group."""
        return self.rank - self.data_parallel_rank * self.tensor_parallel

    def local_data_parallel_rank(self, local_world_size: int) -> int:
        """Return the engine's number on its own machine, which runs `local_world_size` processes of the world."""
        first_here = self.rank - self.rank % max(local_world_size, 1)
        return (self.rank - max(first_here, self.leader)) // self.tensor_parallel


def data_parallel_environment(
    layout: Layout, *, address: str, local_world_size: int, exchange: Callable[[Any], list[Any]]
) -> Mapping[str, str]:
    """Return the environment variables from which vLLM learns its data-parallel group.

    Args:
        layout: the position of this process.
        address: an address of this machine that other machines can reach.
        local_world_size: number of processes of the world on this machine.
        exchange: gathers one object from every rank, in the order of ranks.

    Raises:
        ValueError: the sizes do not divide the world.
    """
    layout.check()
    if layout.data_parallel == 1:
        return {}
    with held_ports(PORTS_PER_GROUP if layout.rank == layout.leader else 0) as port:
        chosen = exchange((address, port))
    master_address, master_port = chosen[layout.leader]
    return {
        "VLLM_DP_SIZE": str(layout.data_parallel),
        "VLLM_DP_RANK": str(layout.data_parallel_rank),
        "VLLM_DP_RANK_LOCAL": str(layout.local_data_parallel_rank(local_world_size)),
        "VLLM_DP_MASTER_IP": master_address,
        "VLLM_DP_MASTER_PORT": str(master_port),
    }
