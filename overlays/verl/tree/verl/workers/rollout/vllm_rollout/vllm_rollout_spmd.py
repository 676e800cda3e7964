"""vLLM rollout: engine arguments from the rollout config, data-parallel engines, and the user's arguments last."""

import os

import ray
import torch
from verl.utils.device import is_npu_available, set_expandable_segments
from verl.utils.npu.data_parallel import Layout, data_parallel_environment
from verl.utils.npu.engine_arguments import data_parallel_size, merged, requested_arguments
from verl.workers.sharding_manager.hybrid_tp_config import HybridTPConfig

from npu_overlays.markers import added, edited, upstream, wrapped


class vLLMRollout:  # noqa: N801  # upstream's name
    """One process of the engine."""

    @added(
        why="rollout.data_parallel_size lets several engines share a mixture-of-experts model: sizes are checked, and "
        "address and a free port are agreed between the processes instead of guessed.",
    )
    def _init_dp_env(self, config):
        """Tell vLLM by environment variables which data-parallel group this process belongs to."""
        layout = Layout(
            world_size=torch.distributed.get_world_size(),
            rank=torch.distributed.get_rank(),
            tensor_parallel=int(config.get("tensor_model_parallel_size", 1)),
            data_parallel=data_parallel_size(config),
        )

        def exchange(value):
            values = [None] * layout.world_size
            torch.distributed.all_gather_object(values, value)
            return values

        environment = data_parallel_environment(
            layout,
            address=ray.util.get_node_ip_address().strip("[]"),
            local_world_size=int(os.environ.get("RAY_LOCAL_WORLD_SIZE", layout.world_size)),
            exchange=exchange,
        )
        os.environ.update(environment)

    @added(
        why="Prefix caching, expert parallelism, max_num_seqs, graph sizes and vllm-ascend settings come from the "
        "rollout config on NPU; what the user writes under engine_kwargs.vllm wins on every device, never collides.",
    )
    def _start_engine(self, engine, user_arguments, **arguments):
        """Build the engine from verl's arguments, those the rollout config asks for, and the user's."""
        requested = {}
        if is_npu_available:
            hybrid = HybridTPConfig.from_config(self.config.get("hybrid_tp", None))
            hybrid.validate(
                world_size=torch.distributed.get_world_size(),
                tensor_parallel_size=arguments["tensor_parallel_size"],
            )
            requested = requested_arguments(self.config, hybrid.sizes)
            self._init_dp_env(self.config)
        set_expandable_segments(False)
        return engine(**merged(arguments, requested, user_arguments))

    @edited(
        ("self.inference_engine = LLM(", "self.inference_engine = self._start_engine(LLM, engine_kwargs,"),
        ("**engine_kwargs,", ""),
        why="The engine is built from all arguments at once, while expandable segments, which it refuses, are off.",
    )
    def __init__(self): ...


class vLLMAsyncRollout:  # noqa: N801  # upstream's name
    """One process of an engine that a server drives."""

    @wrapped(
        why="vLLM's sleep mode refuses expandable segments; with EXPANDABLE_SEGMENTS=True they are off for it.",
        until="0.6.0",
    )
    def init_worker(self, all_kwargs):
        set_expandable_segments(False)
        return upstream(self, all_kwargs)

    @wrapped(
        why="vLLM's sleep mode refuses expandable segments; with EXPANDABLE_SEGMENTS=True they are off for it.",
        since="0.6.0",
    )
    def _init_worker(self, all_kwargs):
        set_expandable_segments(False)
        return upstream(self, all_kwargs)
