"""Arguments of the vLLM engine, merged from verl's own, those of the rollout config and the user's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from verl.workers.sharding_manager.hybrid_tp_config import HybridTPConfig

# Arguments that hold settings: they are merged key by key. Other arguments are replaced.
NESTED = ("additional_config", "compilation_config")


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of all layers; a later layer overrides an earlier one, key by key in nested settings."""
    arguments: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            known = arguments.get(name)
            nested = name in NESTED and isinstance(known, Mapping) and isinstance(value, Mapping)
            arguments[name] = {**known, **value} if nested else value
    return arguments


def graph_sizes(sizes: Any, max_num_seqs: int | None) -> list[int]:
    """Return the batch sizes to capture as graphs, sorted, without those above `max_num_seqs`, which never occur.

    Raises:
        ValueError: there are sizes, but none that can occur.
    """
    wanted = sorted({int(size) for size in sizes or ()})
    usable = [size for size in wanted if size > 0 and (max_num_seqs is None or size <= max_num_seqs)]
    if wanted and not usable:
        raise ValueError(
            f"rollout.cudagraph_capture_sizes {wanted} has no size from 1 to rollout.max_num_seqs ({max_num_seqs})"
        )
    return usable


def requested_arguments(config: Mapping[str, Any], additional_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the engine arguments that the rollout config requests.

    Args:
        config: ``actor_rollout_ref.rollout``.
        additional_config: settings for the vllm-ascend plugin.

    Raises:
        ValueError: no engine supports the expert-parallel size, or no graph size is usable.
    """
    arguments: dict[str, Any] = {"enable_prefix_caching": bool(config.get("enable_prefix_caching", True))}
    if config.get("max_num_seqs"):
        arguments["max_num_seqs"] = int(config["max_num_seqs"])
    if expert_parallel(config):
        arguments["enable_expert_parallel"] = True
    sizes = () if config.get("enforce_eager", True) else config.get("cudagraph_capture_sizes")
    usable = graph_sizes(sizes, arguments.get("max_num_seqs"))
    if usable:
        arguments["compilation_config"] = {"cudagraph_capture_sizes": usable}
    if additional_config:
        arguments["additional_config"] = dict(additional_config)
    return arguments


def expert_parallel(config: Mapping[str, Any]) -> bool:
    """Return whether experts are spread over the engine's ranks; vLLM spreads them over all ranks or none.

    Raises:
        ValueError: the size is neither 1 nor the number of ranks.
    """
    size = int(config.get("expert_parallel_size") or 1)
    ranks = int(config.get("tensor_model_parallel_size") or 1) * data_parallel_size(config)
    if size not in (1, ranks):
        raise ValueError(
            f"rollout.expert_parallel_size is {size}; it must be 1, or tensor_model_parallel_size x "
            f"data_parallel_size = {ranks}"
        )
    return size > 1


def data_parallel_size(config: Mapping[str, Any]) -> int:
    """Return how many engines answer one batch together; MindSpeed-RL's name, dp_model_parallel_size, works too."""
    return int(config.get("dp_model_parallel_size") or config.get("data_parallel_size") or 1)


def server_arguments(engine_arguments: Callable[..., Any], config: Mapping[str, Any], **arguments: Any) -> Any:
    """Return the arguments of a server's engine, merged from verl's, the rollout config's and the user's.

    Args:
        engine_arguments: vLLM's class of engine arguments.
        config: ``actor_rollout_ref.rollout``.
        arguments: verl's own arguments.

    Raises:
        ValueError: a setting only works with engines that run without a server.
    """
    HybridTPConfig.from_config(config.get("hybrid_tp")).refuse_for_servers()
    if data_parallel_size(config) > 1:
        raise ValueError(
            "rollout.data_parallel_size needs rollout.mode=sync, because servers of this verl start single engines"
        )
    requested = requested_arguments(config, {})
    # Upstream does not pass this key to servers, and its default is far above vLLM's own.
    requested.pop("max_num_seqs", None)
    written = (config.get("engine_kwargs") or {}).get("vllm") or {}
    user = {name: _plain(value) for name, value in written.items() if value is not None}
    known = {field.name for field in dataclasses.fields(engine_arguments)} if _is_dataclass(engine_arguments) else None
    # Drop keys of the shipped config that are off and that this vLLM no longer has.
    user = {name: value for name, value in user.items() if value or known is None or name in known}
    return engine_arguments(**merged(arguments, requested, user))


def _is_dataclass(candidate: Any) -> bool:
    return isinstance(candidate, type) and dataclasses.is_dataclass(candidate)


def _plain(value: Any) -> Any:
    """Return a config value as plain dicts and lists."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return list(value) if hasattr(value, "__iter__") and not isinstance(value, (str, bytes)) else value
