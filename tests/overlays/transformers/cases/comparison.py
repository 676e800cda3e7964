"""Comparison of results, with the measures of torch_npu's own tests."""

from __future__ import annotations

from collections.abc import Callable

import torch

NPU = "npu"
# From torch_npu.testing: the allowed difference between outputs of one operator.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-3, torch.bfloat16: 1e-3}
# One unit in the last place: the effect of a single different rounding.
ROUNDING = {torch.float32: 1e-6, torch.float16: 2**-10, torch.bfloat16: 2**-7}
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def assert_close(actual: torch.Tensor, expected: torch.Tensor, *, roundings: int = 1) -> None:
    """Assert equality up to the operators' tolerance and a number of differently placed roundings."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    tolerance = TOLERANCE[expected.dtype] + roundings * ROUNDING[expected.dtype]
    scale = float(expected.detach().float().abs().max()) if expected.numel() else 0.0
    torch.testing.assert_close(
        actual.detach().cpu().float(), expected.detach().float(), rtol=tolerance, atol=tolerance * max(scale, 0.05)
    )


def relative_error(actual: dict[str, torch.Tensor], exact: dict[str, torch.Tensor], *, names: list[str]) -> float:
    """Return the norm of all differences over the norm of all exact values; a missing tensor counts as zeros."""
    difference = sum(float((_get(actual, exact, name) - exact[name].float()).pow(2).sum()) for name in names)
    size = sum(float(exact[name].float().pow(2).sum()) for name in names)
    return float((difference / size) ** 0.5)


def _get(results: dict[str, torch.Tensor], like: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    return results[name].float() if name in results else torch.zeros_like(like[name].float())


def leaf(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Return random numbers that are the same every time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def compare(
    kernel: Callable[..., torch.Tensor], formula: Callable[..., torch.Tensor], *leaves: torch.Tensor, roundings: int = 2
) -> None:
    """Assert that outputs and gradients of a kernel on NPU are those of a formula on CPU."""
    on_cpu = [leaf.clone().requires_grad_(leaf.is_floating_point()) for leaf in leaves]
    on_npu = [leaf.to(NPU).requires_grad_(leaf.is_floating_point()) for leaf in leaves]
    expected, actual = formula(*on_cpu), kernel(*on_npu)
    assert_close(actual.detach(), expected.detach(), roundings=roundings)
    weight = leaf(*expected.shape, dtype=expected.dtype, seed=9)
    (expected * weight).sum().backward()
    (actual * weight.to(NPU)).sum().backward()
    for cpu, npu in zip(on_cpu, on_npu, strict=True):
        if cpu.grad is not None:
            assert npu.grad is not None
            assert_close(npu.grad, cpu.grad, roundings=roundings)
