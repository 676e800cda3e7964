"""vLLM rollout: engine arguments of verl, the rollout config and the user, and data-parallel engines."""

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
        why="With rollout.data_parallel_size, several engines share a mixture-of-experts model. Sizes are checked, "
        "and the processes agree on an address and a free port.",
    )
    def _init_dp_env(self, config):
        """Set the environment variables from which vLLM learns this process's data-parallel group."""
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
        why="On NPU, the rollout config sets prefix caching, expert parallelism, max_num_seqs, graph sizes and "
        "vllm-ascend's settings. On every device, the user's engine_kwargs.vllm override them.",
    )
    def _start_engine(self, engine, user_arguments, **arguments):
        """Return the engine, built from the arguments of verl, the rollout config and the user; later ones win."""
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
        why="The engine is built from all arguments at once, with expandable segments switched off, because it "
        "refuses them.",
    )
    def __init__(self): ...


class vLLMAsyncRollout:  # noqa: N801  # upstream's name
    """One process of an engine that a server drives."""

    @wrapped(
        why="vLLM's sleep mode refuses expandable segments. With EXPANDABLE_SEGMENTS=True, they are switched off "
        "before it runs.",
        until="0.6.0",
    )
    def init_worker(self, all_kwargs):
        set_expandable_segments(False)
        return upstream(self, all_kwargs)

    @wrapped(
        why="vLLM's sleep mode refuses expandable segments. With EXPANDABLE_SEGMENTS=True, they are switched off "
        "before it runs.",
        since="0.6.0",
    )
    def _init_worker(self, all_kwargs):
        set_expandable_segments(False)
        return upstream(self, all_kwargs)
