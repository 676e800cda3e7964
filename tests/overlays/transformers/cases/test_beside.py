"""Our operators together with PEFT, Liger and hub kernels: one of both runs, never both, with the same results."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import MagicMock

import kernels
import peft
import pytest
import torch
import torch.distributed as dist
from comparison import NPU, assert_close, leaf
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor
from transformers import LlamaConfig
from transformers.models.llama import modeling_llama

import emulation
import tiny_models

CASE = tiny_models.Case("llama", batch=2, seed=1)
# Forward, of two layers.
OURS = {"npu_rms_norm": 5, "npu_rotary_mul": 4, "npu_swiglu": 2}

# Liger's names for them.
LIGERS = {"rms_norm": "npu_rms_norm", "swiglu": "npu_swiglu", "rope": "npu_rotary_mul"}

Counts = dict[str, int]
Change = Callable[[Any], Any]


def _step(change: Change) -> tuple[dict[str, torch.Tensor], Counts, Counts]:
    """Run a changed model; returns its output and gradients, and how often each operator ran, forward and backward."""
    model, inputs = tiny_models.ready(CASE, NPU)
    changed = change(model)
    with emulation.recorded() as recording:
        output = tiny_models.step(changed, inputs)
    found = {"output": output}
    found |= {name: one.grad for name, one in changed.named_parameters() if one.grad is not None}
    on_cpu = {name: (one.full_tensor() if isinstance(one, DTensor) else one).cpu() for name, one in found.items()}
    return on_cpu, *(_counts(recording, ending) for ending in ("", "_backward"))


def _counts(recording: emulation.Recording, ending: str) -> Counts:
    counts = {name: recording.fused(f"{name}{ending}") for name in OURS}
    return {name: count for name, count in counts.items() if count}


@pytest.fixture
def mesh() -> Iterator[Any]:
    """Give this process a world of one rank, and the mesh of its device."""
    dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
    yield init_device_mesh(NPU, (1,))
    dist.destroy_process_group()


def _checkpointed(model: Any) -> Any:
    model.gradient_checkpointing_enable()
    return model


def test_gradient_checkpointing_recomputes_fused_layers() -> None:
    expected, *_ = _step(lambda model: model)
    found, forward, backward = _step(_checkpointed)
    # The last norm belongs to no layer.
    assert forward == {"npu_rms_norm": 9, "npu_rotary_mul": 8, "npu_swiglu": 4}
    assert backward == OURS
    assert all(torch.equal(found[name], one) for name, one in expected.items())


def test_fully_sharded_parameters_are_fused(mesh: Any) -> None:
    def sharded(model: Any) -> Any:
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)

    expected, *_ = _step(lambda model: model)
    found, forward, backward = _step(sharded)
    assert forward == backward == OURS
    assert all(torch.equal(found[name], one) for name, one in expected.items())


def test_dtensors_run_upstreams_code(mesh: Any) -> None:
    module = modeling_llama.LlamaRMSNorm(8)
    states = leaf(2, 3, 8)
    expected = module(states)
    module.weight = nn.Parameter(distribute_tensor(module.weight.detach().to(NPU), mesh, [Replicate()]))
    with emulation.recorded() as recording:
        found = module(distribute_tensor(states.to(NPU), mesh, [Replicate()]))
    assert not _counts(recording, "")
    assert_close(found.full_tensor(), expected)


def _fake(name: str, function: Callable[..., Any]) -> None:
    """Tell the compiler the shapes of an operator's results, as torch_npu does."""
    torch.library.register_fake(f"npu::{name}")(function)


def test_forms_compile_without_graph_breaks() -> None:
    _fake("npu_rms_norm", lambda x, _gamma, _epsilon=1e-6: (torch.empty_like(x), torch.empty_like(x[..., :1]).float()))
    _fake("npu_swiglu", lambda x, dim=-1: torch.empty_like(x.chunk(2, dim)[0]))
    _fake("npu_rotary_mul", lambda x, _cos, _sin, *_: torch.empty_like(x))
    sizes = LlamaConfig(hidden_size=16, intermediate_size=24, num_attention_heads=2)
    states = leaf(2, 3, 16).to(NPU).requires_grad_()
    tables = [leaf(2, 3, 8, seed=2).to(NPU), leaf(2, 3, 8, seed=3).to(NPU)]
    heads = [leaf(2, count, 3, 8, seed=count).to(NPU).requires_grad_() for count in (4, 2)]
    forms: list[tuple[Any, list[torch.Tensor], Counts]] = [
        (modeling_llama.LlamaRMSNorm(16).to(NPU), [states], {"npu_rms_norm": 1}),
        (modeling_llama.LlamaMLP(sizes).to(NPU), [states], {"npu_swiglu": 1}),
        (modeling_llama.apply_rotary_pos_emb, [*heads, *tables], {"npu_rotary_mul": 2}),
    ]
    for form, given, counts in forms:
        torch.compiler.reset()
        compiled = torch.compile(form, backend="eager", fullgraph=True)
        with emulation.recorded() as recording:
            found = compiled(*given)
        assert _counts(recording, "") == counts
        expected = form(*given)
        pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
        assert all(torch.equal(one.cpu(), other.cpu()) for one, other in pairs)


def test_layers_with_adapters_are_fused() -> None:
    def adapted(model: Any) -> Any:
        torch.manual_seed(3)
        options = peft.LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False)
        return peft.get_peft_model(model, options)

    found, forward, _ = _step(adapted)
    assert forward == OURS
    # Base parameters are frozen, so the first norm gets no gradient.
    assert found.keys() > {"output"}
    assert all(".lora_" in name for name in found if name != "output")
    model, inputs = tiny_models.ready(CASE, "cpu")
    expected = tiny_models.step(adapted(model), inputs)
    assert_close(found["output"], expected)


_normed: list[torch.Tensor] = []


class _Norm(nn.Module):
    """A stub of a kernel from the Hub."""

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        _normed.append(hidden_states)
        return hidden_states * self.weight


class _Repository:
    layer_name = "Norm"

    def load(self) -> type[nn.Module]:
        return _Norm


def test_a_hub_kernel_replaces_ours() -> None:
    # None of upstream's own kernels is for training on NPU.
    _, forward, _ = _step(_kernelized)
    assert forward == OURS
    mapping: Any = {"RMSNorm": {NPU: _Repository()}}
    with kernels.use_kernel_mapping(mapping):
        _, forward, _ = _step(_kernelized)
    assert len(_normed) == OURS["npu_rms_norm"]
    assert forward == {name: count for name, count in OURS.items() if name != "npu_rms_norm"}


def _kernelized(model: Any) -> Any:
    return kernels.kernelize(model.train(), mode=kernels.Mode.TRAINING, device=NPU)


class _NoTriton(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives modules of Triton, which compiles for devices alone, that can be imported and do nothing."""

    def find_spec(self, name: str, *_: object) -> Any:
        is_triton = name.partition(".")[0] == "triton"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_triton else None

    def create_module(self, spec: Any) -> Any:
        return MagicMock(__spec__=spec, __path__=[], __version__="3.5.0")

    def exec_module(self, module: Any) -> None:
        """There is nothing to run."""


@pytest.mark.parametrize("theirs", [(), ("rms_norm",), ("swiglu", "rope"), ("rms_norm", "swiglu", "rope")], ids=str)
def test_liger_keeps_the_modules_it_replaces(theirs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [_NoTriton(), *sys.meta_path])
    from liger_kernel.transformers import monkey_patch, rms_norm, swiglu  # noqa: PLC0415  # without Triton

    for name in ("LlamaRMSNorm", "LlamaMLP", "apply_rotary_pos_emb"):
        monkeypatch.setattr(modeling_llama, name, getattr(modeling_llama, name))
    calls: Counter[str] = Counter()

    def stand_in(kind: str, function: Callable[..., Any]) -> Any:
        """Return what takes the place of a kernel, a function or an autograd function, and counts its calls."""

        def called(*given: Any, **_: Any) -> Any:
            calls[kind] += 1
            return function(*given)

        called.__dict__["apply"] = called
        return called

    norm, gate = (lambda states, weight, *_: states * weight), (lambda gate, up, *_: gate * up)
    monkeypatch.setattr(rms_norm, "LigerRMSNormFunction", stand_in("rms_norm", norm))
    monkeypatch.setattr(swiglu, "LigerSiLUMulFunction", stand_in("swiglu", gate))
    monkeypatch.setattr(monkey_patch, "liger_rotary_pos_emb", stand_in("rope", lambda q, k, *_: (q, k)))

    def changed(model: Any) -> Any:
        wanted = {kind: kind in theirs for kind in LIGERS}
        monkey_patch.apply_liger_kernel_to_llama(**wanted, fused_linear_cross_entropy=False, model=model)
        return model

    _, forward, backward = _step(changed)
    assert forward == backward == {LIGERS[kind]: OURS[LIGERS[kind]] for kind in LIGERS if kind not in theirs}
    # Its rotary embedding is one call for queries and keys.
    assert calls == {kind: OURS[LIGERS[kind]] // (2 if kind == "rope" else 1) for kind in theirs}
