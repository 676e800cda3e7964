"""MindSpeed gets a run's arguments from verl's Megatron workers and engines, its patches being off classes by then.

Megatron-Core and MindSpeed are stand-ins; that all patches are in force afterwards is shown without verl, by the tests
beside this folder.
"""

from __future__ import annotations

import ast
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import stub_megatron
import stub_packages
import stub_vllm
from changed import changed
from omegaconf import OmegaConf

stub_packages.install("mindspeed")
stub_megatron.install()
stub_vllm.install()

import verl  # noqa: E402  # the stand-ins come first

ENGINE = "verl/workers/engine/mindspeed/transformer_impl.py"


class ReachedError(Exception):
    """MindSpeed was called."""


class Optimizer:
    """Megatron's, with MindSpeed's patch in force."""

    def step(self) -> str:
        return "npu"


def upstreams(_self: Any) -> str:
    return "upstream"


@pytest.fixture
def repatch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return MindSpeed's function: it writes down its arguments, and what Megatron's method is, and goes no further."""
    patch = SimpleNamespace(orig_module=Optimizer, orig_func_name="step", orig_func=upstreams)
    module = ModuleType("mindspeed.patch_utils")
    vars(module)["MindSpeedPatchesManager"] = SimpleNamespace(patches_info={"megatron.Optimizer.step": patch})
    monkeypatch.setitem(sys.modules, "mindspeed.patch_utils", module)
    monkeypatch.setattr(Optimizer, "step", Optimizer.step)

    def called(arguments: Any) -> None:
        called.given.append((dict(arguments), Optimizer().step()))
        raise ReachedError

    called.given = []
    return called


@pytest.mark.skipif(find_spec("verl.workers.megatron_workers") is None, reason="this verl has engines only")
def test_a_worker_renews_the_patches(repatch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from verl.workers import megatron_workers  # noqa: PLC0415  # not every verl has it

    monkeypatch.setattr(megatron_workers, "repatch", repatch)
    monkeypatch.setattr(megatron_workers.Worker, "__init__", lambda _self: None)
    config = OmegaConf.create({"actor": {"megatron": {"override_transformer_config": {"use_flash_attn": True}}}})

    with pytest.raises(ReachedError):
        megatron_workers.ActorRolloutRefWorker(config, "actor")

    assert repatch.given == [({"use_flash_attn": True}, "upstream")]


@pytest.mark.skipif(
    not any(changed(ENGINE, f"MindspeedEngineWithLMHead.{name}") for name in ("__init__", "_init_device_mesh")),
    reason="this verl's engine has no such constructor",
)
def test_an_engine_renews_the_patches(repatch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from verl.workers.engine.mindspeed import transformer_impl  # noqa: PLC0415  # not every verl has it

    monkeypatch.setattr(transformer_impl, "repatch", repatch)
    monkeypatch.setattr(transformer_impl.MegatronEngineWithLMHead, "__init__", _keep_config)

    with pytest.raises(ReachedError):
        _start(transformer_impl.MindspeedEngineWithLMHead)

    assert repatch.given == [({"use_flash_attn": True, "context_parallel_size": 2}, "upstream")]


@pytest.mark.skipif(not changed(ENGINE, "_mindspeed_repatch"), reason="this verl's engine has no such function")
def test_an_engines_function_renews_the_patches(repatch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from verl.workers.engine.mindspeed import transformer_impl  # noqa: PLC0415  # not every verl has it

    monkeypatch.setattr(transformer_impl, "repatch", repatch)

    with pytest.raises(ReachedError):
        transformer_impl._mindspeed_repatch(_Config(context_parallel_size=2))

    assert repatch.given == [({"use_flash_attn": True, "context_parallel_size": 2}, "upstream")]


def _start(engine_class: Any) -> None:
    """Make an engine and, where its constructor is done by then, the groups of its ranks."""
    engine_class(None, _Config(context_parallel_size=2), None, None)._init_device_mesh()


class _Config(SimpleNamespace):
    """An engine's configuration, which has no other settings."""

    def get(self, _name: str, otherwise: Any = None) -> Any:
        return otherwise


def _keep_config(self: Any, _model: Any, engine: Any, *_: Any) -> None:
    self.engine_config = engine


def test_nothing_calls_repatch_by_itself() -> None:
    """Whatever this verl has, and whoever calls it: there is no other way to MindSpeed."""
    calls = [
        (path.name, node.func.id)
        for path in Path(next(iter(verl.__path__))).rglob("*.py")
        if "repatch" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id == "repatch" or (node.func.id == "renew_patches" and ast.unparse(node.args[0]) == "repatch")
    ]
    assert {name for _, name in calls} == {"repatch", "renew_patches"}
    assert [call for call in calls if call[1] == "repatch"] == [("mindspeed.py", "repatch")]
