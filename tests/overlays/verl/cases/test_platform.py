"""The platform of a machine, in versions of verl with platforms: its choice, its setup and its patches."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import actor
import pytest
import torch
import torch.distributed as dist
from transformers import Qwen2Config, Qwen2ForCausalLM
from verl.models.transformers.monkey_patch import apply_monkey_patch
from verl.plugin.platform import PlatformRegistry, get_platform, platform_manager
from verl.utils import device, distributed
from verl.workers.engine import EngineRegistry
from verl.workers.engine.fsdp import transformer_impl


@pytest.fixture
def npu_patch() -> ModuleType:
    """Return upstream's module of operators, which imports torch_npu."""
    return importlib.import_module("verl.models.transformers.npu_patch")


@pytest.mark.on_cpu
def test_without_an_accelerator_the_platform_is_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERL_PLATFORM", raising=False)

    assert platform_manager._detect_platform_name() == "cpu"
    assert (device.get_device_name(), device.get_nccl_backend()) == ("cpu", "gloo")


@pytest.mark.on_cpu
def test_a_torch_built_for_gpus_means_the_gpu_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in upstream: a driver may have no GPU but start workers that do."""
    monkeypatch.delenv("VERL_PLATFORM", raising=False)
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)

    assert platform_manager._detect_platform_name() == "nvidia"


def test_the_cpu_platform_can_be_named_and_is_not_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERL_PLATFORM", "cpu")
    platform = PlatformRegistry.get("cpu")()

    assert platform_manager._detect_platform_name() == "cpu"
    assert not platform.is_platform_available(use_smi_check=True)
    assert platform.device_module.max_memory_allocated() == 0
    state = platform.device_module.get_rng_state()
    first = torch.rand(3)
    platform.device_module.set_rng_state(state)
    assert torch.equal(torch.rand(3), first)


@pytest.mark.on_npu
def test_an_npu_is_found() -> None:
    assert (get_platform().device_name, device.get_nccl_backend()) == ("npu", "hccl")


@pytest.mark.parametrize("begin", ["initialize_global_process_group", "initialize_global_process_group_ray"])
def test_each_device_is_named_once(begin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(dist, "init_process_group", lambda *_, backend, **__: asked.append(backend))
    for name in ("LOCAL_RANK", "RANK", "WORLD_SIZE"):
        monkeypatch.setenv(name, "0")

    getattr(distributed, begin)()

    name = device.get_device_name()
    assert asked == ["cpu:gloo" if name == "cpu" else f"cpu:gloo,{name}:hccl"]


@pytest.mark.parametrize("kind", ["language_model", "value_model"])
def test_there_is_an_engine_for_the_device(kind: str) -> None:
    assert issubclass(EngineRegistry.get_engine_cls(kind, "fsdp2"), transformer_impl.FSDPEngine)


@pytest.mark.parametrize("name", ["cpu", "npu"])
def test_memory_is_pinned_where_there_is_an_accelerator(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reference policy is offloaded; torch cannot pin memory without an accelerator."""
    asked: list[bool] = []
    engine = object.__new__(transformer_impl.FSDPEngine)

    class Stopped(Exception):  # noqa: N818  # not an error: it was asked by then
        """Raised instead of sharding a model."""

    def policy(*, pin_memory: bool) -> Any:
        asked.append(pin_memory)
        raise Stopped

    monkeypatch.setattr(transformer_impl, "device_name", name)
    monkeypatch.setattr(transformer_impl, "CPUOffloadPolicy", policy)
    monkeypatch.setattr(transformer_impl, "get_fsdp_wrap_policy", lambda **_: None)
    monkeypatch.setattr(transformer_impl, "get_sharding_strategy", lambda *_, **__: None)
    settings = {"mixed_precision": None, "strategy": "fsdp2", "offload_policy": False, "forward_only": True}
    settings |= {"wrap_policy": None, "reshard_after_forward": True}
    engine.engine_config = type("Settings", (), settings)()
    engine.model_config = type("Model", (), {"lora_rank": 0})()
    engine.device_mesh = None

    with pytest.raises(Stopped):
        engine._build_fsdp_module(torch.nn.Linear(1, 1))

    assert asked == [name != "cpu"]


def _bindings() -> dict[tuple[str, str], int]:
    """Return what every name of transformers' models, and every attribute of their classes, is bound to."""
    found: dict[tuple[str, str], int] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("transformers.") and (".models." in name or name.endswith("flash_attention")):
            for symbol, value in list(vars(module).items()):
                found[name, symbol] = id(value)
                if isinstance(value, type):
                    found |= {(name, f"{symbol}.{key}"): id(one) for key, one in vars(value).items()}
    return found


@contextlib.contextmanager
def _nothing_assigned() -> Iterator[None]:
    before = _bindings()
    yield
    after = _bindings()
    assert {name for name, bound in before.items() if after.get(name, bound) != bound} == set()


@pytest.mark.on_npu
@pytest.mark.parametrize("family", actor.FAMILIES)
def test_nothing_of_transformers_is_assigned(family: str, npu_patch: ModuleType) -> None:
    for patched in npu_patch.NPU_PATCHES:
        importlib.import_module(f"transformers.models.{patched}.modeling_{patched}")
    model = actor.model_of(family, "flash_attention_2")

    with _nothing_assigned():
        npu_patch.apply_npu_patches()
        apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True)


@pytest.mark.on_npu
def test_with_upstreams_transformers_operators_are_assigned_as_before(
    npu_patch: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[int] = []
    monkeypatch.setattr(npu_patch, "transformers_splits_sequences", lambda: False)
    monkeypatch.setattr(npu_patch, "NPU_PATCHES", {"qwen2": lambda: called.append(1)})

    npu_patch.apply_npu_patches()

    assert called == [1]


@pytest.mark.on_npu
@pytest.mark.parametrize("activation", ["silu", "gelu", "relu"])
def test_a_model_applies_its_configured_activation(activation: str, npu_patch: ModuleType) -> None:
    """Upstream's operators treat every activation as SiLU; logits are wrong for any other."""
    config = {**actor.SIZES, "hidden_act": activation, "attn_implementation": "eager"}
    torch.manual_seed(3)
    model = Qwen2ForCausalLM(Qwen2Config(**config)).float()
    tokens = torch.randint(actor.VOCABULARY, (2, 7))
    expected = model(tokens).logits

    npu_patch.apply_npu_patches()
    apply_monkey_patch(model, ulysses_sp_size=1, use_remove_padding=True)
    found = model.to("npu")(tokens.to("npu")).logits.cpu()

    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
