"""Kernels: the NPU's fused operators in plain PyTorch on CPU, forward and backward.

Forward functions take and return CPU tensors. They compute in fp32 and round
once, as the real kernels are documented to. First they check the limits that
any version of torch_npu documents: what passes here is documented everywhere.
Backward functions are what the real library registers with autograd;
operators without one have none here either.
"""

from __future__ import annotations

import math

import torch
from torch.nn import functional

from emulation.checks import FLOATS, MAX_DIMS, MAX_PAIRS, MAX_TARGETS, is_transposed, require, same_float_dtype


def rms_norm(x: torch.Tensor, gamma: torch.Tensor, epsilon: float = 1e-6) -> tuple[torch.Tensor, torch.Tensor]:
    require(x.dtype in FLOATS, "npu_rms_norm", f"{x.dtype} is not supported")
    require(gamma.dtype == x.dtype, "npu_rms_norm", f"gamma of {gamma.dtype} with x of {x.dtype}")
    require(2 <= x.dim() <= MAX_DIMS, "npu_rms_norm", f"x must have 2 to {MAX_DIMS} dimensions, not {x.dim()}")
    require(x.shape[x.dim() - gamma.dim() :] == gamma.shape, "npu_rms_norm", "gamma must match x's last dimensions")
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    rstd = torch.rsqrt(x.float().pow(2).mean(dims, keepdim=True) + epsilon)
    return (x.float() * rstd * gamma.float()).to(x.dtype), rstd


def rms_norm_backward(
    gradient: torch.Tensor, x: torch.Tensor, gamma: torch.Tensor, rstd: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    normed = x.float() * rstd
    scaled = gradient.float() * gamma.float()
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    d_x = rstd * (scaled - normed * (scaled * normed).mean(dims, keepdim=True))
    leading = tuple(range(x.dim() - gamma.dim()))
    d_gamma = (gradient.float() * normed).sum(leading) if leading else gradient.float() * normed
    return d_x.to(x.dtype), d_gamma


def swiglu(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    require(x.dtype in FLOATS, "npu_swiglu", f"{x.dtype} is not supported")
    require(x.is_contiguous(), "npu_swiglu", "the input must be contiguous")
    require(1 <= x.dim() <= MAX_DIMS, "npu_swiglu", f"the input must have 1 to {MAX_DIMS} dimensions")
    require(x.shape[dim] % 2 == 0, "npu_swiglu", f"dimension {dim} must be even, not {x.shape[dim]}")
    gate, up = x.float().chunk(2, dim)
    return (functional.silu(gate) * up).to(x.dtype)


def swiglu_backward(gradient: torch.Tensor, x: torch.Tensor, dim: int) -> torch.Tensor:
    gate, up = x.float().chunk(2, dim)
    sigmoid = torch.sigmoid(gate)
    d_gate = gradient.float() * up * sigmoid * (1 + gate * (1 - sigmoid))
    return torch.cat((d_gate, gradient.float() * gate * sigmoid), dim).to(x.dtype)


def cross_entropy_loss(
    x: torch.Tensor,
    target: torch.Tensor,
    weight: torch.Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
    *rest: object,
    **more: object,
) -> tuple[torch.Tensor, ...]:
    name = "npu_cross_entropy_loss"
    require(x.dtype in FLOATS, name, f"{x.dtype} is not supported")
    require(x.dim() == 2 and target.shape == x.shape[:1], name, "one row of logits for each target")
    require(0 < x.shape[0] <= MAX_TARGETS, name, f"at least one target and at most {MAX_TARGETS}")
    require(target.dtype == torch.int64, name, f"targets must be int64, not {target.dtype}")
    require(weight is None and reduction == "none", name, "only a loss for each row, without weights, is emulated")
    require(not any(rest) and not any(more.values()), name, "neither smoothing nor a z-loss is emulated")
    log_probs = functional.log_softmax(x.float(), -1)
    loss = functional.nll_loss(log_probs, target, reduction="none", ignore_index=ignore_index)
    return loss.to(x.dtype), log_probs.to(x.dtype), torch.empty(0), torch.empty(0)


def cross_entropy_loss_backward(
    gradient: torch.Tensor, log_probs: torch.Tensor, target: torch.Tensor, ignore_index: int
) -> torch.Tensor:
    counted = (target != ignore_index)[:, None]
    chosen = functional.one_hot(target.clamp(min=0), log_probs.shape[-1])
    d_x = (log_probs.float().exp() - chosen) * gradient.float()[:, None]
    return (d_x * counted).to(log_probs.dtype)


def rotary_mul(
    x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str = "half", *, multiple: int = 2
) -> torch.Tensor:
    """Return x rotated; the size of its heads is a multiple of `multiple`."""
    _check_rotary(x, cos, sin, mode, multiple)
    # The tables are cast to the dtype of the input, then everything is fp32.
    cos, sin = cos.to(x.dtype).float(), sin.to(x.dtype).float()
    return (x.float() * cos + _rotated(x.float(), mode) * sin).to(x.dtype)


def rotary_mul_backward(
    gradient: torch.Tensor, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str
) -> torch.Tensor:
    cos, sin = cos.to(x.dtype).float(), sin.to(x.dtype).float()
    # Turned by a quarter twice, everything has the other sign: one back is one on with that.
    return (gradient.float() * cos - _rotated(gradient.float() * sin, mode)).to(x.dtype)


def _rotated(x: torch.Tensor, mode: str) -> torch.Tensor:
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def _check_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, mode: str, multiple: int) -> None:
    name = "npu_rotary_mul"
    require(mode in ("half", "interleave"), name, f"rotary_mode must be half or interleave, not {mode}")
    require(x.dim() == cos.dim() == sin.dim() == 4, name, "x, r1 and r2 must have 4 dimensions")
    require(x.dtype in FLOATS and cos.dtype in FLOATS, name, f"{x.dtype} with {cos.dtype} is not supported")
    require(cos.shape == sin.shape, name, "r1 and r2 must have one shape")
    size, table = list(x.shape), list(cos.shape)
    batch, one, two, dim = size
    rule = f"the head dimension must be a multiple of {multiple} and below 896, not {dim}"
    require(dim % multiple == 0 and dim < 896, name, rule)
    by_layout = {
        "BNSD": ([[1, 1, two, dim], [batch, 1, two, dim], size], batch, one),
        "BSND": ([[1, one, 1, dim], [batch, one, 1, dim], size], batch, two),
        "SBND": ([[batch, 1, 1, dim], [batch, one, 1, dim], size], one, two),
    }
    # Interleaved, every sequence has the same table.
    allowed = 3 if mode == "half" else 1
    fitting = [sizes for shapes, *sizes in by_layout.values() if table in shapes[:allowed]]
    require(bool(fitting), name, f"r1 of shape {table} does not broadcast to x of shape {size}")
    largest = min(max(sizes) if mode == "half" else math.prod(sizes) for sizes in fitting)
    require(largest < 1000, name, "batch and heads must be below 1000 (interleaved: their product)")


def moe_token_permute(
    tokens: torch.Tensor,
    indices: torch.Tensor,
    num_out_tokens: int | None = None,
    padded_mode: bool = False,  # noqa: FBT002
) -> tuple[torch.Tensor, torch.Tensor]:
    name = "npu_moe_token_permute"
    require(not padded_mode, name, "padded_mode is not supported")
    require(tokens.dtype == torch.bfloat16, name, f"tokens must be bf16, not {tokens.dtype}")
    require(indices.dtype == torch.int64, name, f"indices must be int64, not {indices.dtype}")
    require(tokens.dim() == indices.dim() == 2, name, "tokens and indices must have 2 dimensions")
    require(indices.shape[1] <= 512, name, "at most 512 experts per token")
    require(indices.numel() < MAX_PAIRS, name, f"there must be fewer than {MAX_PAIRS} indices")
    require(num_out_tokens in (None, 0, indices.numel()), name, "dropping tokens is not emulated")
    order = indices.flatten().argsort(stable=True)
    return tokens[order // indices.shape[1]], order.argsort().to(torch.int32)


def moe_token_permute_backward(gradient: torch.Tensor, positions: torch.Tensor, top_k: int) -> torch.Tensor:
    per_pair = gradient.float()[positions.long()]
    return per_pair.view(-1, top_k, gradient.shape[-1]).sum(1).to(gradient.dtype)


def moe_token_unpermute(
    permuted: torch.Tensor,
    positions: torch.Tensor,
    probs: torch.Tensor | None = None,
    padded_mode: bool = False,  # noqa: FBT002
    restore_shape: list[int] | None = None,
) -> torch.Tensor:
    name = "npu_moe_token_unpermute"
    require(not padded_mode and restore_shape is None, name, "padded_mode is not supported")
    require(permuted.dtype == torch.bfloat16, name, f"permuted_tokens must be bf16, not {permuted.dtype}")
    require(permuted.dim() == 2, name, "permuted_tokens must have 2 dimensions")
    require(positions.dtype == torch.int32, name, "sorted_indices must be int32")
    require(probs is None or probs.shape[1] <= 512, name, "at most 512 experts per token")
    per_pair = permuted.float()[positions.long()]
    if probs is None:
        return per_pair.to(permuted.dtype)
    same_float_dtype(name, permuted, probs)
    weighted = per_pair.view(*probs.shape, -1) * probs.float().unsqueeze(-1)
    return weighted.sum(1).to(permuted.dtype)


def moe_token_unpermute_backward(
    gradient: torch.Tensor, permuted: torch.Tensor, positions: torch.Tensor, probs: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor | None]:
    if probs is None:
        d_permuted = torch.empty_like(gradient)
        d_permuted[positions.long()] = gradient
        return d_permuted, None
    per_pair = permuted.float()[positions.long()].view(*probs.shape, -1)
    d_probs = (per_pair * gradient.float().unsqueeze(1)).sum(-1)
    d_pairs = (gradient.float().unsqueeze(1) * probs.float().unsqueeze(-1)).view(-1, gradient.shape[-1])
    d_permuted = torch.empty_like(d_pairs)
    d_permuted[positions.long()] = d_pairs
    return d_permuted.to(permuted.dtype), d_probs.to(probs.dtype)


def split_rows(x: torch.Tensor, weights: list[torch.Tensor], ends: list[int]) -> torch.Tensor:
    """Grouped product with the rows of x split: rows of group g times weight g; unwritten rows are poisoned."""
    name = "npu_grouped_matmul"
    matrices = list(weights[0]) if len(weights) == 1 and weights[0].dim() == 3 else weights
    same_float_dtype(name, x, *matrices)
    require(x.dtype != torch.float32 or len(weights) == 1, name, "in fp32 weight must be one tensor")
    require(x.dim() == 2 and not is_transposed(x), name, "x must be 2-D and not transposed when rows are split")
    require(len({is_transposed(matrix) for matrix in matrices}) == 1, name, "weights must be transposed alike")
    require(len({matrix.shape for matrix in matrices}) == 1, name, "weights must have one shape")
    require(matrices[0].shape[0] == x.shape[1], name, "x and weight do not fit")
    output = torch.full((x.shape[0], matrices[0].shape[1]), torch.nan, dtype=x.dtype)
    for start, end, matrix in zip([0, *ends], ends, matrices, strict=False):
        output[start:end] = (x[start:end].float() @ matrix.float()).to(x.dtype)
    return output


def split_reduction(x: torch.Tensor, weight: torch.Tensor, ends: list[int]) -> torch.Tensor:
    """Grouped product with the reduced dimension split: columns of group g times rows of group g."""
    name = "npu_grouped_matmul"
    same_float_dtype(name, x, weight)
    require(x.dim() == weight.dim() == 2, name, "x and weight must be 2-D")
    require(is_transposed(x) or 1 in x.shape, name, "x must be a transposed view when the reduction is split")
    require(weight.is_contiguous(), name, "weight must not be transposed when the reduction is split")
    products = [
        (x[:, start:end].float() @ weight[start:end].float()).to(x.dtype)
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    return torch.stack(products)
