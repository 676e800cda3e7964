"""The product that all mixtures of experts share, on the emulated NPU against one product per expert on CPU."""

from __future__ import annotations

import pytest
import torch
import torch_npu
from comparison import DTYPES, NPU, assert_close, compare, leaf
from transformers.integrations import moe, npu_grouped_mm

import emulation

HAS_K_SPLIT = torch_npu.__version__ not in ("2.5.1", "2.6.0")
ENDS = [(2, 2, 9), (9, 9, 9), (0, 4, 9), (3, 6, 9)]


def _loop(rows: torch.Tensor, weight: torch.Tensor, ends: tuple[int, ...]) -> torch.Tensor:
    sizes = torch.diff(torch.tensor((0, *ends))).tolist()
    # Every matrix takes part, so that groups without a row get gradients of zero here too.
    parts = zip(rows.float().split(sizes), weight.float(), strict=True)
    return torch.cat([part @ matrix for part, matrix in parts]).to(weight.dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ends", ENDS, ids=str)
@pytest.mark.parametrize("stored", ["as used", "transposed", "strided"])
def test_rows_of_each_group_meet_their_matrix(dtype: torch.dtype, ends: tuple[int, ...], stored: str) -> None:
    def used(weight: torch.Tensor) -> torch.Tensor:
        if stored == "as used":
            return weight
        return weight.transpose(-2, -1) if stored == "transposed" else weight[:, :, ::2]

    def kernel(rows: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        offsets = torch.tensor(ends, device=NPU, dtype=torch.int32)
        assert npu_grouped_mm.can_use_grouped_mm(rows, used(weight), offsets)
        return moe._grouped_mm(rows, used(weight), offsets)

    shape = {"as used": (3, 6, 5), "transposed": (3, 5, 6), "strided": (3, 6, 10)}[stored]
    formula = lambda rows, weight: _loop(rows, used(weight), ends)  # noqa: E731
    compare(kernel, formula, leaf(9, 6, dtype=dtype, seed=7), leaf(*shape, dtype=dtype, seed=1))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
def test_the_callers_offsets_are_unchanged(dtype: torch.dtype) -> None:
    offsets = torch.tensor((1, 3), dtype=dtype, device=NPU)
    moe._grouped_mm(_npu(5, 4), _npu(2, 4, 6), offsets)
    assert offsets.cpu().tolist() == [1, 3]


def test_rows_of_other_ranks_experts_change_nothing() -> None:
    """Rows after the last end belong to other ranks' experts: their results are finite and their gradients zero."""
    rows, weight = leaf(7, 6).to(NPU).requires_grad_(), leaf(3, 6, 5, seed=1).to(NPU).requires_grad_()
    output = moe._grouped_mm(rows, weight, torch.tensor((2, 3, 5), dtype=torch.int32, device=NPU))
    assert torch.isfinite(output.cpu()).all()
    kept = torch.arange(7, device=NPU).unsqueeze(-1) < 5
    output.masked_fill(~kept, 0.0).sum().backward()
    expected_rows, expected = leaf(7, 6).requires_grad_(), leaf(3, 6, 5, seed=1).requires_grad_()
    _loop(expected_rows[:5], expected, (2, 3, 5)).sum().backward()
    assert rows.grad is not None
    assert weight.grad is not None
    assert_close(rows.grad, expected_rows.grad)
    assert_close(weight.grad, expected.grad)


def test_a_transposed_weights_gradient_has_its_memory_layout() -> None:
    weight = leaf(3, 5, 6).to(NPU).requires_grad_()
    moe._grouped_mm(_npu(4, 6), weight.transpose(-2, -1), torch.tensor((1, 2, 4), device=NPU)).sum().backward()
    assert weight.grad is not None
    assert weight.grad.stride() == weight.stride()


def test_transposed_weights_and_their_gradients_are_not_copied() -> None:
    launched = []
    # The first call tests once what the operator supports.
    for shape, transposed in (((3, 6, 5), False), ((3, 6, 5), False), ((3, 5, 6), True)):
        weight = leaf(*shape).to(NPU)
        weight = (weight.transpose(-2, -1) if transposed else weight).requires_grad_()
        with emulation.recorded() as recording:
            output = moe._grouped_mm(_npu(4, 6), weight, torch.tensor((1, 2, 4), device=NPU))
            (gradient,) = torch.autograd.grad(output.sum(), weight)
        assert gradient.stride() == weight.stride()
        launched.append(recording.launches())
    assert launched[1] == launched[2]


def test_rows_of_any_memory_layout_work() -> None:
    ends = ENDS[0]

    def kernel(columns: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return moe._grouped_mm(columns.t(), weight, torch.tensor(ends, device=NPU))

    compare(kernel, lambda columns, weight: _loop(columns.t(), weight, ends), leaf(6, 9), leaf(3, 6, 5, seed=1))


def test_an_input_of_another_dtype_is_cast_to_the_weights_as_upstream_does() -> None:
    offsets = torch.tensor((2, 4), dtype=torch.int32)
    rows, weight = leaf(4, 8), leaf(2, 8, 8, dtype=torch.bfloat16)
    assert_close(moe._grouped_mm(rows.to(NPU), weight.to(NPU), offsets.to(NPU)), moe._grouped_mm(rows, weight, offsets))


def _npu(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.ones(shape, dtype=dtype, device=NPU)


class _Sharded(torch.Tensor):
    """A subclass of Tensor, like DTensor."""


LEFT: dict[str, tuple[torch.Tensor, torch.Tensor]] = {
    "cpu": (torch.ones(4, 8), torch.ones(2, 8, 6)),
    "fp64": (_npu(4, 8, dtype=torch.float64), _npu(2, 8, 6, dtype=torch.float64)),
    "no rows": (_npu(0, 8), _npu(2, 8, 6)),
    "another size": (_npu(4, 8), _npu(2, 7, 6)),
    "one matrix": (_npu(4, 8), _npu(8, 6)),
    "another number of groups": (_npu(4, 8), _npu(3, 8, 6)),
    "a long dimension": (_npu(4, 8), _npu(2, 8, 65536)),
    "a long row": (_npu(4, 65536), _npu(2, 65536, 6)),
    "rows of whole numbers": (_npu(4, 8, dtype=torch.int64), _npu(2, 8, 6)),
    "a subclass": (_npu(4, 8), _npu(2, 8, 6).as_subclass(_Sharded)),
    "quantised": (_npu(4, 8), _npu(2, 8, 6, dtype=torch.int8)),
}


@pytest.mark.parametrize("case", LEFT)
def test_unsupported_inputs_run_upstreams_code(case: str) -> None:
    rows, weight = LEFT[case]
    offsets = torch.tensor((2, 4), dtype=torch.int32, device=rows.device)
    assert npu_grouped_mm.can_use_grouped_mm(_npu(4, 8), _npu(2, 8, 6), offsets.to(NPU))
    assert not npu_grouped_mm.can_use_grouped_mm(rows, weight, offsets)


@pytest.mark.parametrize(
    "ends", [torch.tensor((2, 4)), torch.tensor((2.0, 4.0), device=NPU)], ids=["on the CPU", "no whole numbers"]
)
def test_unsupported_ends_run_upstreams_code(ends: torch.Tensor) -> None:
    assert not npu_grouped_mm.can_use_grouped_mm(_npu(4, 8), _npu(2, 8, 6), ends)


def test_more_groups_than_the_limit_run_upstreams_code() -> None:
    ends = torch.arange(1025, dtype=torch.int32, device=NPU)
    assert not npu_grouped_mm.can_use_grouped_mm(_npu(4, 2), _npu(1025, 2, 2), ends)
    assert npu_grouped_mm.can_use_grouped_mm(_npu(4, 2), _npu(1024, 2, 2), ends[:1024])


def test_under_the_compiler_upstreams_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    offsets = torch.tensor((2, 4), dtype=torch.int32, device=NPU)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not npu_grouped_mm.can_use_grouped_mm(_npu(4, 8), _npu(2, 8, 6), offsets)


def test_frozen_weights_cost_no_gradient() -> None:
    weight = leaf(3, 6, 5).to(NPU)
    with emulation.recorded() as recording:
        rows = leaf(4, 6).to(NPU).requires_grad_()
        moe._grouped_mm(rows, weight, torch.tensor((1, 2, 4), device=NPU)).sum().backward()
    assert rows.grad is not None
    assert recording.fused("npu_grouped_matmul") == 2


def test_rows_without_a_gradient_cost_no_product() -> None:
    weight = leaf(3, 6, 5).to(NPU).requires_grad_()
    with emulation.recorded() as recording:
        moe._grouped_mm(_npu(4, 6), weight, torch.tensor((1, 2, 4), device=NPU)).sum().backward()
    assert weight.grad is not None
    assert recording.fused("npu_grouped_matmul") == (2 if HAS_K_SPLIT else 1)
