"""Hybrid tensor parallelism of the rollout engine: ``rollout.hybrid_tp`` in, validated vllm-ascend settings out."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

# The module of vllm-ascend that reads additional_config.
_READER = "vllm_ascend.ascend_config"


@dataclass(frozen=True, kw_only=True)
class HybridTPConfig:
    """Tensor-parallel sizes of individual layers that differ from the engine's.

    Args:
        enabled: whether the engine receives the sizes below.
        lmhead_tensor_parallel_size: ranks that share the output head; None follows the engine.
        oproj_tensor_parallel_size: ranks that share the attention output projection; None follows the engine.
    """

    enabled: bool = False
    lmhead_tensor_parallel_size: int | None = None
    oproj_tensor_parallel_size: int | None = None

    @classmethod
    def from_config(cls, config: Mapping[str, Any] | None) -> HybridTPConfig:
        """Return the settings of ``rollout.hybrid_tp``; unknown keys are an error."""
        values = dict(config or {})
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            known = ", ".join(field.name for field in fields(cls))
            raise ValueError(f"rollout.hybrid_tp has no key {', '.join(unknown)}; it has {known}")
        return cls(**values)

    @property
    def sizes(self) -> dict[str, int]:
        """The settings for vllm-ascend, under its own names; empty if not enabled."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "enabled"}
        return {name: size for name, size in named.items() if size is not None} if self.enabled else {}

    def validate(
        self, *, world_size: int, tensor_parallel_size: int, readable: Callable[[str], bool] | None = None
    ) -> None:
        """Raise ValueError with every problem of these settings.

        Args:
            world_size: processes of the training world.
            tensor_parallel_size: the engine's tensor-parallel size.
            readable: returns whether the installed vllm-ascend reads a setting; the default looks it up.
        """
        readable = readable or vllm_ascend_reads
        problems = []
        for name, size in self.sizes.items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                problems.append(f"{name} is {size!r}, not a whole number from 1")
                continue
            if world_size % size:
                problems.append(f"{name} ({size}) does not divide the world of {world_size} processes")
            if tensor_parallel_size != 1:
                problems.append(f"{name} needs tensor_model_parallel_size 1, not {tensor_parallel_size}")
            if not readable(name):
                problems.append(f"{name} is not read by the installed vllm-ascend and would have no effect")
        if "oproj_tensor_parallel_size" in self.sizes:
            problems.append(
                "oproj_tensor_parallel_size works only in graph-mode decoding nodes of a disaggregated "
                "deployment, which a training rollout is not"
            )
        if problems:
            raise ValueError("rollout.hybrid_tp: " + "; ".join(problems))

    def refuse_for_servers(self) -> None:
        """Raise ValueError if a size is set: a server's engine has its own world, in which the sizes have no effect."""
        if self.sizes:
            raise ValueError(
                f"rollout.hybrid_tp: {', '.join(self.sizes)} would have no effect with rollout.mode=async; "
                "set rollout.mode=sync, or rollout.hybrid_tp.enabled=False"
            )


def vllm_ascend_reads(setting: str) -> bool:
    """Return whether the installed vllm-ascend mentions a setting in the module that reads its configuration."""
    try:
        found = importlib.util.find_spec(_READER)
    except ModuleNotFoundError:
        return False
    return bool(found and found.origin and setting in Path(found.origin).read_text(encoding="utf-8"))
