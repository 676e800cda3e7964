"""Training and generation take turns: expandable segments are off while an engine is built or awake, on for training.

vLLM, SGLang and Megatron-Core are stand-ins that write down when they are
built, woken, given weights and put to sleep; what calls them is verl's.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import stub_megatron
import stub_packages
import stub_vllm
import torch
from changed import changed

if not importlib.util.find_spec("verl.utils.npu.engine_arguments"):
    pytest.skip("in this verl engines are servers: test_turns.py", allow_module_level=True)

OFF, ON = "expandable_segments:False", "expandable_segments:True"


async def _update_weights(*, engine: Any, params_batch: Any, **_: Any) -> None:
    engine.load_weights(params_batch)


stub_megatron.install()
stub_vllm.install()
stub_packages.install("sglang", {"sglang.srt.weight_sync.utils": {"update_weights": _update_weights}})

from verl.workers import fsdp_workers, megatron_workers  # noqa: E402  # the stand-ins come first
from verl.workers.rollout.sglang_rollout import sglang_rollout  # noqa: E402
from verl.workers.rollout.vllm_rollout import vllm_rollout_spmd  # noqa: E402
from verl.workers.sharding_manager import fsdp_sglang, fsdp_vllm, megatron_sglang, megatron_vllm  # noqa: E402

pytestmark = pytest.mark.usefixtures("world")
# Otherwise sharding managers, which the overlay wraps, switch segments.
HAS_MODES = not changed("verl/workers/sharding_manager/fsdp_vllm.py", "FSDPVLLMShardingManager.__enter__")


class Engine:
    """An inference engine: it writes down what is done with it, and keeps nothing."""

    def __init__(self, journal: list[str]) -> None:
        self.journal = journal
        self.model = SimpleNamespace(layers=[])
        self.compute_logits = None
        runner = SimpleNamespace(model=self)
        worker = SimpleNamespace(model_runner=runner)
        self.worker = worker
        self.llm_engine = SimpleNamespace(model_executor=SimpleNamespace(driver_worker=SimpleNamespace(worker=worker)))

    def load_weights(self, weights: Any) -> list[str]:
        self.journal.append("weights")
        return [name for name, _ in weights]

    def wake_up(self, tags: list[str] | None = None) -> None:
        self.journal.append(f"wake {tags}")

    def sleep(self, level: int = 1) -> None:  # noqa: ARG002  # vLLM's signature
        self.journal.append("sleep")


class Server(Engine):
    """SGLang's engine, whose calls are awaited."""

    async def resume_memory_occupation(self, tags: list[str] | None = None) -> None:
        self.wake_up(tags)

    async def release_memory_occupation(self, tags: Any = None) -> None:  # noqa: ARG002  # SGLang's signature
        self.sleep()

    async def flush_cache(self) -> None: ...


class Mesh:
    """A mesh of one rank, whatever its dimensions are called."""

    def __init__(self) -> None:
        self.mesh = torch.ones(1, dtype=torch.int)

    def __getitem__(self, name: str) -> Mesh:
        return self

    def size(self) -> int:
        return 1

    def get_local_rank(self) -> int:
        return 0


def module() -> Any:
    return torch.nn.ModuleList([torch.nn.Linear(2, 2)]).to("npu")


BRIDGE = SimpleNamespace(export_weights=lambda module: iter(module.state_dict().items()))
ROLLOUT = SimpleNamespace(free_cache_engine=True, update_weights_bucket_megabytes=1)


def fsdp_vllm_manager(engine: Any) -> Any:
    manager = fsdp_vllm.FSDPVLLMShardingManager(module(), engine, None, ROLLOUT, device_mesh=Mesh())
    manager.base_sync_done = True
    return manager


def megatron_vllm_manager(engine: Any) -> Any:
    return megatron_vllm.MegatronVLLMShardingManager(
        module(), engine, None, None, ROLLOUT, None, None, Mesh(), offload_param=False, bridge=BRIDGE
    )


def fsdp_sglang_manager(engine: Any) -> Any:
    return fsdp_sglang.FSDPSGLangShardingManager(module(), engine, None, ROLLOUT, device_mesh=Mesh())


def megatron_sglang_manager(engine: Any) -> Any:
    return megatron_sglang.MegatronSGLangShardingManager(
        module(), engine, None, ROLLOUT, None, None, None, device_mesh=Mesh(), bridge=BRIDGE
    )


MANAGERS = [
    (fsdp_vllm_manager, Engine),
    (megatron_vllm_manager, Engine),
    (fsdp_sglang_manager, Server),
    (megatron_sglang_manager, Server),
]


def check_turns(journal: list[str]) -> None:
    """Check one turn of generation: off before the engine wakes, on after it sleeps and the cache is empty."""
    first_wake = next(index for index, event in enumerate(journal) if event.startswith("wake"))
    asleep = journal.index("sleep")
    assert OFF in journal[:first_wake]
    assert ON not in journal[:asleep]
    assert "weights" in journal[first_wake:asleep]
    assert journal[asleep:].index("empty cache") < journal[asleep:].index(ON)
    assert [event for event in journal if event in (OFF, ON)][-1] == ON
    assert os.environ["PYTORCH_NPU_ALLOC_CONF"] == ON


@pytest.mark.parametrize(("make", "engine"), MANAGERS, ids=[make.__name__ for make, _ in MANAGERS])
def test_sharding_managers_switch_before_waking_and_after_sleeping(
    journal: list[str], make: Callable[[Any], Any], engine: type
) -> None:
    asyncio.set_event_loop(asyncio.new_event_loop())
    manager = make(engine(journal))
    journal.clear()

    with manager:
        assert os.environ["PYTORCH_NPU_ALLOC_CONF"] == OFF

    check_turns(journal)


class Rollout:
    """verl's rollout as far as a worker switches it: its calls are awaited."""

    def __init__(self, journal: list[str]) -> None:
        self.engine = Engine(journal)

    async def resume(self, tags: list[str]) -> None:
        self.engine.wake_up(tags)

    async def update_weights(self, weights: Any, **_: Any) -> None:
        self.engine.load_weights(weights)

    async def release(self) -> None:
        self.engine.sleep()


@pytest.mark.skipif(not HAS_MODES, reason="in this verl sharding managers switch")
@pytest.mark.parametrize("workers", [fsdp_workers, megatron_workers])
def test_workers_switch_before_waking_and_after_sleeping(journal: list[str], workers: Any) -> None:
    worker = object.__new__(workers.ActorRolloutRefWorker)
    states = torch.npu.get_rng_state()
    worker.__dict__.update(
        rollout=Rollout(journal),
        actor_module_fsdp=module(),
        actor=SimpleNamespace(actor_module=module()),
        bridge=BRIDGE,
        vanilla_bridge=True,
        config=SimpleNamespace(rollout=ROLLOUT),
        base_sync_done=True,
        torch_random_states=states,
        gen_random_states=states,
        _is_offload_param=False,
    )

    asyncio.run(worker.rollout_mode())
    assert os.environ["PYTORCH_NPU_ALLOC_CONF"] == OFF
    asyncio.run(worker.trainer_mode())

    check_turns(journal)


class VLLMWorker(Engine):
    """vLLM's worker, which a server builds, loads, and puts to sleep from afar."""

    def __init__(self, journal: list[str]) -> None:
        super().__init__(journal)
        journal.append(f"build with {os.environ['PYTORCH_NPU_ALLOC_CONF']}")

    def init_worker(self, _arguments: Any) -> None:
        self.journal.append("init")

    def load_model(self) -> None:
        self.journal.append(f"load with {os.environ['PYTORCH_NPU_ALLOC_CONF']}")


def test_a_servers_worker_is_built_and_loaded_with_segments_off(
    journal: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES", "")
    monkeypatch.setattr(vllm_rollout_spmd, "WorkerWrapperBase", lambda **_: VLLMWorker(journal))
    rollout = object.__new__(vllm_rollout_spmd.vLLMAsyncRollout)
    rollout.__dict__.update(tokenizer="t", lora_config={}, is_sleep=False, config=SimpleNamespace(quantization=None))
    rollout.sharding_manager = fsdp_vllm_manager(None)
    # Training had them on before the server was started.
    fsdp_workers.set_expandable_segments(True) if HAS_MODES else fsdp_vllm.set_expandable_segments(True)
    journal.clear()

    for method, arguments in (("init_worker", ([{"vllm_config": SimpleNamespace()}],)), ("load_model", ())):
        done = (rollout._execute_method if HAS_MODES else rollout.execute_method)(method, *arguments)
        asyncio.run(done) if HAS_MODES else None

    assert journal == [OFF, f"build with {OFF}", "init", f"load with {OFF}"]
    if not HAS_MODES:
        rollout.execute_method("sleep")
        rollout.execute_method("wake_up")
        rollout.execute_method("sleep")
        check_turns(journal[journal.index(ON) + 1 :])


def test_sglangs_engine_is_built_with_segments_off(journal: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def build(**arguments: Any) -> str:
        journal.append(f"build with {os.environ['PYTORCH_NPU_ALLOC_CONF']}")
        return str(arguments["model_path"])

    monkeypatch.setattr(sglang_rollout, "AsyncEngine", build)
    rollout = object.__new__(sglang_rollout.SGLangRollout)
    known = {"load_format": "dummy", "dtype": "bfloat16", "gpu_memory_utilization": 0.5, "mode": "sync"}
    config = Config(known | {"skip_tokenizer_init": True})
    rollout.__dict__.update(_tp_size=1, _tp_rank=0, _rank=0, visible_devices_set={"0"}, config=config)

    rollout._init_inference_engine(None, "path", None)

    assert rollout._engine == "path"
    assert journal == [OFF, f"build with {OFF}"]


class Config(dict[str, Any]):
    """A config as far as the engines look at it: names are attributes, ``get`` has a default."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(name) from error
