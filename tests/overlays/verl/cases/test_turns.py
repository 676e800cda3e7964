"""Training and generation take turns where engines are servers: segments are off while weights are handed over.

The server is a stand-in that writes down when it is woken and given weights; the workers are verl's.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import stub_vllm
import torch
from changed import changed

if importlib.util.find_spec("verl.utils.npu.engine_arguments"):
    pytest.skip("in this verl engines run inside workers", allow_module_level=True)
if not changed("verl/utils/device.py", "set_expandable_segments"):
    pytest.skip("this verl switches the NPU's allocator by itself", allow_module_level=True)
stub_vllm.install()

from verl.workers import engine_workers  # noqa: E402  # the stand-in comes first

# Upstream's own packages are asked, so that a wheel that lost them does not pass.
UPSTREAM = [
    Path(folder, "verl/workers/fsdp_workers.py") for folder in os.environ["UPSTREAM_PACKAGES"].split(os.pathsep)
]
if HAS_FSDP_WORKERS := any(file.is_file() for file in UPSTREAM):
    from verl.workers import fsdp_workers

OFF, ON = "expandable_segments:False", "expandable_segments:True"
CONFIG = {"free_cache_engine": True, "checkpoint_engine": SimpleNamespace(backend="naive")}
pytestmark = pytest.mark.usefixtures("world")


class Server:
    """verl's adapter of a server as far as workers look: its calls are awaited."""

    def __init__(self, journal: list[str]) -> None:
        self.journal = journal

    async def resume(self, tags: list[str]) -> None:
        self.journal.append(f"wake {tags}")

    async def update_weights(self, weights: Any, **_: Any) -> None:
        self.journal.append(f"weights {[name for name, _ in weights]}")


class Rollout(dict[str, Any]):
    """The rollout's configuration: names are attributes, ``get`` has a default."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def fsdp_turn(server: Server) -> Any:
    worker = object.__new__(fsdp_workers.ActorRolloutRefWorker)
    worker.__dict__.update(rollout=server, actor_module_fsdp=torch.nn.Linear(2, 2).to("npu"), base_sync_done=True)
    worker.__dict__.update(config=SimpleNamespace(rollout=Rollout(CONFIG)), _is_offload_param=False, _qat_enabled=False)
    return worker.rollout_mode()


def engine_turn(server: Server) -> Any:
    class Engine:
        """The trained model as far as the worker looks."""

        is_param_offload_enabled = True

        def get_per_tensor_param(self, **_: Any) -> Any:
            return torch.nn.Linear(2, 2).to("npu").named_parameters(), None

        def to(self, *_: Any, **__: Any) -> None:
            server.journal.append("offload")

    worker = object.__new__(engine_workers.ActorRolloutRefWorker)
    worker.__dict__.update(rollout=server, actor=SimpleNamespace(engine=Engine()), layered_summon=False)
    worker.__dict__.update(config=SimpleNamespace(rollout=Rollout(CONFIG)), peft_merge=False, base_sync_done=True)
    return worker.update_weights()


@pytest.mark.parametrize("turn", [*[fsdp_turn] * HAS_FSDP_WORKERS, engine_turn])
def test_segments_are_off_before_the_server_wakes_and_on_when_it_has_its_weights(journal: list[str], turn: Any) -> None:
    asyncio.run(turn(Server(journal)))

    seen = [event for event in journal if event not in ("empty cache", "offload")]
    assert seen == [OFF, "wake ['weights']", "weights ['weight', 'bias']", "wake ['kv_cache']", ON]
    assert os.environ["PYTORCH_NPU_ALLOC_CONF"] == ON
