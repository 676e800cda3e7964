"""Each kernel against plain PyTorch on CPU, and each predicate against what its operator refuses."""

from __future__ import annotations

import pytest
import torch
from comparison import DTYPES, NPU, compare, leaf
from torch import nn
from torch.nn import functional
from torch.nn.modules import module
from transformers.integrations import npu_kernels


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 5, 16)], ids=str)
def test_rms_norm_is_the_models(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    def formula(states: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return functional.rms_norm(states.float(), weight.shape, weight.float(), 1e-6).to(states.dtype)

    compare(
        lambda x, w: npu_kernels.npu_rms_norm(x, w, 1e-6),
        formula,
        leaf(*shape, dtype=dtype),
        leaf(shape[-1], dtype=dtype),
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (7, 33), (2, 3, 20)], ids=str)
def test_swiglu_is_silu_times_up(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    def formula(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return (functional.silu(gate.float()) * up.float()).to(gate.dtype)

    compare(npu_kernels.npu_swiglu, formula, leaf(*shape, dtype=dtype), leaf(*shape, dtype=dtype, seed=1))


ROTARY_SHAPES = [
    ((2, 4, 7, 16), (2, 1, 7, 16)),
    ((2, 4, 7, 16), (1, 1, 7, 16)),
    ((2, 7, 4, 16), (2, 7, 1, 16)),
    ((3, 2, 1, 8), (3, 1, 1, 8)),
    ((9, 2, 80), (9, 1, 80)),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("shape", "table"), ROTARY_SHAPES, ids=str)
def test_rotary_rotates(dtype: torch.dtype, shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    cos, sin = leaf(*table, seed=4).cos().to(dtype), leaf(*table, seed=4).sin().to(dtype)

    def formula(states: torch.Tensor) -> torch.Tensor:
        first, second = states.float().chunk(2, -1)
        rotated = torch.cat((-second, first), -1)
        return (states.float() * cos.float() + rotated * sin.float()).to(states.dtype)

    assert npu_kernels.can_use_rotary(leaf(*shape, dtype=dtype).to(NPU), cos.to(NPU), sin.to(NPU))
    compare(lambda x: npu_kernels.npu_rotary(x, cos.to(NPU), sin.to(NPU)), formula, leaf(*shape, dtype=dtype))


@pytest.mark.parametrize(
    ("shape", "table"),
    [
        ((2, 4, 7, 15), (2, 1, 7, 15)),
        ((2, 4, 7, 896), (2, 1, 7, 896)),
        ((2, 1000, 7, 8), (1, 1, 7, 8)),
        ((1000, 2, 7, 8), (1, 1, 7, 8)),
        ((2, 4, 7, 16), (2, 1, 7, 8)),
        ((2, 4, 7, 16), (3, 1, 7, 16)),
        ((2, 4, 7, 16), (2, 1, 6, 16)),
        ((7, 16), (7, 16)),
    ],
    ids=str,
)
def test_rotary_is_not_used_where_the_operator_refuses(shape: tuple[int, ...], table: tuple[int, ...]) -> None:
    states, cos = torch.ones(shape, device=NPU), torch.ones(table, device=NPU)
    assert not npu_kernels.can_use_rotary(states, cos, cos)
    with pytest.raises(RuntimeError, match="npu_rotary_mul"):
        torch.ops.npu.npu_rotary_mul(states, cos, cos)


def _npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device=NPU)


@pytest.mark.parametrize(
    ("states", "weight"),
    [
        (torch.ones(2, 4), torch.ones(4)),
        (_npu(2, 4, dtype=torch.bfloat16), _npu(4)),
        (_npu(2, 4), _npu(4, dtype=torch.bfloat16)),
        (_npu(2, 4, dtype=torch.float64), _npu(4, dtype=torch.float64)),
        (_npu(0, 4), _npu(4)),
        (_npu(2, 4), _npu(1)),
    ],
    ids=["cpu", "wide weight", "narrow weight", "fp64", "empty", "broadcast weight"],
)
def test_rms_norm_is_left_to_the_model_otherwise(states: torch.Tensor, weight: torch.Tensor) -> None:
    assert npu_kernels.can_use_rms_norm(_npu(2, 4), _npu(4))
    assert not npu_kernels.can_use_rms_norm(states, weight)


def _hooked(*, only_observes: bool) -> nn.SiLU:
    def double(_module: nn.Module, _args: object, output: torch.Tensor) -> torch.Tensor | None:
        return None if only_observes else output * 2

    double.__dict__["only_observes"] = only_observes
    activation = nn.SiLU()
    activation.register_forward_hook(double)
    return activation


def _replaced() -> nn.SiLU:
    activation = nn.SiLU()
    activation.__dict__["forward"] = functional.gelu
    return activation


@pytest.mark.parametrize(
    ("states", "activation"),
    [
        (torch.ones(2, 4), nn.SiLU()),
        (_npu(2, 4), nn.GELU()),
        (_npu(2, 4), functional.silu),
        (_npu(2, 4), _hooked(only_observes=False)),
        (_npu(2, 4), _replaced()),
        (_npu(2, 4, dtype=torch.float64), nn.SiLU()),
        (_npu(0, 4), nn.SiLU()),
    ],
    ids=["cpu", "gelu", "function", "hooked", "replaced", "fp64", "empty"],
)
def test_swiglu_is_left_to_the_model_otherwise(states: torch.Tensor, activation: object) -> None:
    assert npu_kernels.can_use_swiglu(_npu(2, 4), nn.SiLU())
    assert npu_kernels.can_use_swiglu(_npu(2, 4), _hooked(only_observes=True))
    assert not npu_kernels.can_use_swiglu(states, activation)


@pytest.mark.parametrize("kind", ["forward_pre", "forward", "full_backward", "full_backward_pre"])
@pytest.mark.parametrize("only_observes", [True, False])
def test_swiglu_is_left_to_the_model_where_every_module_is_hooked(kind: str, only_observes: bool) -> None:
    def hook(*_: object) -> None: ...

    hook.__dict__["only_observes"] = only_observes
    handle = getattr(module, f"register_module_{kind}_hook")(hook)
    try:
        assert npu_kernels.can_use_swiglu(_npu(2, 4), nn.SiLU()) == only_observes
    finally:
        handle.remove()
    assert npu_kernels.can_use_swiglu(_npu(2, 4), nn.SiLU())


@pytest.mark.parametrize(
    ("states", "cos", "sin"),
    [
        (torch.bfloat16, torch.float32, torch.float32),
        (torch.float32, torch.bfloat16, torch.float32),
        (torch.float32, torch.float32, torch.bfloat16),
        (torch.float64, torch.float64, torch.float64),
    ],
    ids=["wide tables", "narrow cosines", "narrow sines", "fp64"],
)
def test_rotary_is_left_to_the_model_for_other_dtypes(states: torch.dtype, cos: torch.dtype, sin: torch.dtype) -> None:
    whole = [_npu(1, 1, 2, 4)] * 3
    assert npu_kernels.can_use_rotary(*whole)
    assert not npu_kernels.can_use_rotary(*(_npu(1, 1, 2, 4, dtype=dtype) for dtype in (states, cos, sin)))


@pytest.mark.parametrize("trained", ["cos", "sin"])
def test_rotary_is_left_to_the_model_where_its_tables_are_trained(trained: str) -> None:
    tables = {"cos": _npu(1, 1, 2, 4), "sin": _npu(1, 1, 2, 4)}
    assert npu_kernels.can_use_rotary(_npu(1, 1, 2, 4).requires_grad_(), **tables)
    tables[trained].requires_grad_()
    assert not npu_kernels.can_use_rotary(_npu(1, 1, 2, 4).requires_grad_(), **tables)


def test_tensor_subclasses_are_left_to_the_model() -> None:
    class Sharded(torch.Tensor):
        pass

    states = _npu(2, 4).as_subclass(Sharded)
    assert not npu_kernels.can_use_rms_norm(states, _npu(4))
    assert not npu_kernels.can_use_swiglu(states, nn.SiLU())
    assert npu_kernels.on_npu(nn.Parameter(_npu(2)))
