"""A Megatron-Core of one pipeline stage: parallel state, a schedule that runs micro-batches, nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional, Union

import stub_packages
import torch


@dataclass
class Pipeline:
    """Which stage this process plays.

    Args:
        stages: stages of the pipeline.
        is_last: whether this one computes log-probabilities and losses.
    """

    stages: int = 1
    is_last: bool = True


pipeline = Pipeline()
GROUP = object()


def _schedule(
    *, forward_step_func: Callable[..., Any], data_iterator: Any, model: Any, num_microbatches: int, **options: Any
) -> list[Any]:
    """Run every micro-batch forward, and backward unless told not to; only the last stage has something to return."""
    stats = []
    for _ in range(num_microbatches):
        output, loss_function = forward_step_func(data_iterator, model[0])
        if not pipeline.is_last:
            continue
        loss, found = loss_function(output)
        stats.append(found)
        if not options["forward_only"]:
            (loss / num_microbatches).backward()
    return stats


_STATE: dict[str, Any] = {
    "get_pipeline_model_parallel_group": lambda: GROUP,
    "get_pipeline_model_parallel_last_rank": lambda: 0,
    "get_pipeline_model_parallel_world_size": lambda: pipeline.stages,
    "get_virtual_pipeline_model_parallel_world_size": lambda: None,
    **{f"get_{kind}_parallel_world_size": lambda: 1 for kind in ("tensor_model", "expert_model", "expert_tensor")},
    "is_pipeline_last_stage": lambda **_: pipeline.is_last,
}


# What verl takes from modules of which it imports every name.
_NAMES: dict[str, Any] = {"Optional": Optional, "Tensor": torch.Tensor, "Tuple": tuple, "Union": Union}
_STARRED: dict[str, Any] = {
    **_NAMES,
    "__all__": [
        *_NAMES,
        "BaseInferenceContext",
        "PackedSeqParams",
        "SelfAttention",
        "TransformerBlock",
        "WrappedTensor",
    ],
}


def install() -> None:
    """Let what verl imports of Megatron-Core be imported in this process."""
    given = {
        "megatron.core": {"__version__": "0.12.1"},
        "megatron.core.parallel_state": _STATE,
        "megatron.core.pipeline_parallel": {"get_forward_backward_func": lambda: _schedule},
        "megatron.core.models.common.embeddings.rope_utils": _STARRED,
        "megatron.core.transformer.attention": _STARRED,
        "megatron.core.transformer.transformer_block": _STARRED,
    }
    stub_packages.install("megatron", given)
    stub_packages.install("transformer_engine")
