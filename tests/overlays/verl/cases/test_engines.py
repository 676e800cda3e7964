"""The arguments with which vLLM is built: by verl's rollout in workers, and by its servers."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stub_vllm
import torch
from changed import changed
from omegaconf import OmegaConf

if not importlib.util.find_spec("verl.utils.npu.engine_arguments"):
    pytest.skip("in this verl engines are servers, which upstream starts by itself", allow_module_level=True)
stub_vllm.install()

import verl.trainer.config as shipped  # noqa: E402  # vLLM comes first
from verl.utils.config import omega_conf_to_dataclass  # noqa: E402
from verl.workers.rollout.vllm_rollout import vllm_async_server, vllm_rollout_spmd  # noqa: E402

OFF = "expandable_segments:False"
pytestmark = pytest.mark.usefixtures("world")
# Where the overlay has something to do there, a server has the keys that are shipped, and no dataclass of them yet.
IS_OLD = changed("verl/workers/rollout/vllm_rollout/vllm_async_server.py", "AsyncvLLMServer.init_engine")
# Workers had one before servers did.
HAS_DATACLASS = "model_config" in inspect.signature(vllm_rollout_spmd.vLLMRollout).parameters
ROLLOUT = {
    "name": "vllm",
    "prompt_length": 8,
    "response_length": 8,
    "tensor_model_parallel_size": 1,
    "max_num_batched_tokens": 64,
    "max_num_seqs": 32,
    "free_cache_engine": True,
    "enable_chunked_prefill": False,
    "enforce_eager": False,
    "load_format": "dummy",
    "cudagraph_capture_sizes": [1, 2, 64],
}


def rollout_config(*, dataclass: bool, **changes: Any) -> Any:
    """Return the shipped configuration of the rollout with these changes, as a worker or a server gets it."""
    file = Path(str(shipped.__file__)).parent / "rollout" / "rollout.yaml"
    keys: Any = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    known = {name: value for name, value in keys.items() if not isinstance(value, str) or "$" not in value}
    for part in ("profiler", "skip_dump_dir"):
        known.pop(part, None)
    config = OmegaConf.merge(known, ROLLOUT, changes)
    return omega_conf_to_dataclass(config) if dataclass else config


def rollout_of(**changes: Any) -> Any:
    """Return a rollout built from the shipped keys and these changes, whichever signature this verl has."""
    hf_config = SimpleNamespace(max_position_embeddings=64, rope_scaling=None)
    tokenizer = SimpleNamespace(pad_token_id=0)
    config = rollout_config(dataclass=HAS_DATACLASS, **changes)
    if not HAS_DATACLASS:
        return vllm_rollout_spmd.vLLMRollout("path", config, tokenizer, hf_config)
    model = SimpleNamespace(
        local_path="path", tokenizer=tokenizer, hf_config=hf_config, trust_remote_code=False, lora_rank=0
    )
    return vllm_rollout_spmd.vLLMRollout(config, model, None)


def test_the_engine_gets_the_configs_arguments_with_segments_off(
    journal: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class LLM(stub_vllm.LLM):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            journal.append(f"build with {os.environ['PYTORCH_NPU_ALLOC_CONF']}")

    monkeypatch.setattr(vllm_rollout_spmd, "LLM", LLM)

    arguments = rollout_of().inference_engine.arguments

    assert journal == [OFF, f"build with {OFF}"]
    assert arguments["max_num_seqs"] == 32
    assert arguments["enable_prefix_caching"] is True
    assert arguments["compilation_config"] == {"cudagraph_capture_sizes": [1, 2]}
    assert "enable_expert_parallel" not in arguments
    assert "VLLM_DP_SIZE" not in os.environ


def test_the_users_engine_arguments_override_others() -> None:
    user = {
        "enable_prefix_caching": False,
        "max_model_len": 12,
        "max_num_seqs": None,
        "additional_config": {"refresh": True, "sizes": [1, 2]},
        "compilation_config": {"level": 3},
    }

    arguments = rollout_of(engine_kwargs={"vllm": user}).inference_engine.arguments

    assert arguments["enable_prefix_caching"] is False
    assert arguments["max_model_len"] == 12
    assert arguments["max_num_seqs"] == 32
    assert arguments["compilation_config"] == {"cudagraph_capture_sizes": [1, 2], "level": 3}
    assert arguments["additional_config"] == {"refresh": True, "sizes": [1, 2]}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"data_parallel_size": 2}, "does not divide the world of 1"),
        ({"hybrid_tp": {"enabled": True, "lmhead_tensor_parallel_size": 2}}, "no effect"),
        ({"cudagraph_capture_sizes": [64]}, "max_num_seqs"),
    ],
)
def test_settings_that_cannot_work_stop_before_an_engine_starts(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        rollout_of(**changes)


@pytest.mark.parametrize("rank", range(4))
def test_data_parallel_environment_is_set_before_the_engine_is_built(
    rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gather(values: list[Any], value: Any) -> None:
        # Every other rank receives a marker of the rank that it came from.
        values[:] = [(f"host{other}", 1000 + other) if other != rank else value for other in range(4)]

    class LLM(stub_vllm.LLM):
        def __init__(self, **arguments: Any) -> None:
            super().__init__(**arguments)
            self.environment = {name: value for name, value in os.environ.items() if name.startswith("VLLM_DP_")}

    monkeypatch.setattr(torch.distributed, "get_world_size", lambda _group=None: 4)
    monkeypatch.setattr(torch.distributed, "get_rank", lambda _group=None: rank)
    monkeypatch.setattr(torch.distributed, "all_gather_object", gather)
    monkeypatch.setattr("ray.util.get_node_ip_address", lambda: "[own]")
    monkeypatch.setattr(vllm_rollout_spmd, "LLM", LLM)
    monkeypatch.setenv("RAY_LOCAL_WORLD_SIZE", "4")
    for name in ("SIZE", "RANK", "RANK_LOCAL", "MASTER_IP", "MASTER_PORT"):
        monkeypatch.setenv(f"VLLM_DP_{name}", "")
        monkeypatch.delenv(f"VLLM_DP_{name}")

    engine = rollout_of(data_parallel_size=2, expert_parallel_size=2).inference_engine

    leader = rank - rank % 2
    found = dict(engine.environment)
    port = found.pop("VLLM_DP_MASTER_PORT")
    assert found == {
        "VLLM_DP_SIZE": "2",
        "VLLM_DP_RANK": str(rank % 2),
        "VLLM_DP_RANK_LOCAL": str(rank % 2),
        "VLLM_DP_MASTER_IP": "own" if rank == leader else f"host{leader}",
    }
    assert int(port) > 1023 if rank == leader else port == str(1000 + leader)
    assert engine.arguments["enable_expert_parallel"] is True


def test_off_the_npu_only_the_users_arguments_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_rollout_spmd, "is_npu_available", False)
    user = {"enable_prefix_caching": False, "seed": 3}

    arguments = rollout_of(engine_kwargs={"vllm": user}, hybrid_tp={"enabled": True, "lmhead_tensor_parallel_size": 7})

    assert arguments.inference_engine.arguments["enable_prefix_caching"] is False
    assert arguments.inference_engine.arguments["seed"] == 3
    assert "additional_config" not in arguments.inference_engine.arguments


class Stopped(Exception):  # noqa: N818  # not an error: what is looked at has happened
    """Raised instead of starting a server."""


@pytest.mark.skipif(not IS_OLD, reason="in this verl servers pass engine_kwargs.vllm on themselves")
def test_a_servers_engine_gets_the_configs_and_the_users_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: dict[str, Any] = {}

    def engine_arguments(**given: Any) -> None:
        arguments.update(given)
        raise Stopped

    monkeypatch.setattr(vllm_async_server, "AsyncEngineArgs", engine_arguments)
    monkeypatch.setattr(vllm_async_server, "copy_to_local", lambda path: path)
    server_class = vllm_async_server.AsyncvLLMServer.__ray_metadata__.modified_class
    server = object.__new__(server_class)
    user = {"gpu_memory_utilization": 0.3, "additional_config": {"refresh": True}}
    rollout = rollout_config(dataclass=False, engine_kwargs={"vllm": user}, enable_prefix_caching=False)
    server.config = OmegaConf.create({"model": {"path": "a/b/c"}, "rollout": rollout})

    with pytest.raises(Stopped):
        asyncio.run(server.init_engine())

    assert arguments["model"] == "a/b/c"
    assert arguments["enable_prefix_caching"] is False
    assert arguments["gpu_memory_utilization"] == 0.3
    assert arguments["additional_config"] == {"refresh": True}
    assert arguments["compilation_config"] == {"cudagraph_capture_sizes": [1, 2]}
    assert "max_num_seqs" not in arguments


def test_a_server_refuses_unsupported_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm_async_server, "copy_to_local", lambda path: path, raising=False)
    settings = {"enabled": True, "lmhead_tensor_parallel_size": 2}
    rollout = rollout_config(dataclass=not IS_OLD, hybrid_tp=settings)
    if IS_OLD:
        server = object.__new__(vllm_async_server.AsyncvLLMServer.__ray_metadata__.modified_class)
        server.config = OmegaConf.create({"model": {"path": "a/b/c"}, "rollout": rollout})
        start = server.init_engine
    else:
        server = object.__new__(vllm_async_server.vLLMHttpServerBase)
        server.__dict__.update(config=rollout, node_rank=0)
        start = server.launch_server

    with pytest.raises(ValueError, match=r"no effect with rollout\.mode=async"):
        asyncio.run(start())
