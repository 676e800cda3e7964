"""Fused Ascend NPU operators for RMSNorm, SwiGLU and rotary embeddings.

Every kernel comes as a pair: a predicate (``can_use_…``) that says whether the
operator computes what the model asks for, and the kernel itself. Callers run
their own PyTorch code wherever the predicate is false, so nothing changes on
CPU, on GPU, for tensor subclasses (DTensor and the like), for mixed dtypes,
or where a torch_npu lacks the operator.

torch_npu is never imported here: a tensor can only be on an NPU after
something imported torch_npu, and that import is what fills ``torch.ops.npu``.
"""

from __future__ import annotations

import functools

import torch
from torch import nn
from torch.nn.modules import module as every

# What the fused operators take on Atlas A2 and A3; fp64 and integers stay with PyTorch's own operators.
FUSED_DTYPES = (torch.float16, torch.bfloat16, torch.float32)

# npu_rotary_mul in mode "half" is documented for these sizes only.
_ROTARY_MAX_HEAD_DIM = 896
_ROTARY_MAX_BATCH_OR_HEADS = 1000
_ROTARY_NDIM = 4


def on_npu(tensor: torch.Tensor) -> bool:
    """Return whether `tensor` is a plain tensor in NPU memory.

    Subclasses are left out on purpose: DTensor, for one, has no rule for how
    to shard the fused operators.
    """
    return tensor.device.type == "npu" and type(tensor) in (torch.Tensor, nn.Parameter)


def autocast_enabled(device: torch.device) -> bool:
    """Return whether autocast is on for `device`; upstream's question is about GPUs whatever the device."""
    return torch.is_autocast_enabled("npu") if device.type == "npu" else torch.is_autocast_enabled()


def autocast_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype autocast computes in on `device`."""
    return torch.get_autocast_dtype("npu") if device.type == "npu" else torch.get_autocast_gpu_dtype()


def is_silu(activation: object) -> bool:
    """Return whether an activation is SiLU: torch's, or from 4.57 on one of transformers' own; no heir, not hooked."""
    from ..activations import ACT2CLS  # noqa: PLC0415  # from 4.57 on, it imports this module by way of the hub's kernels

    return type(activation) in (nn.SiLU, ACT2CLS["silu"]) and not is_hooked(activation)


def is_hooked(module: nn.Module) -> bool:
    """Return whether calling `module` may do more than its class's forward, which a fused operator would leave out.

    Hooks of every module count as well. One that only looks says so by an
    attribute, ``only_observes = True``, and is passed over, also where it then
    is not called: what is to be observed is what runs without it. Those of
    npu-recipes' dumps do.
    """
    hooks = (
        *(module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks),
        *(every._global_forward_hooks, every._global_forward_pre_hooks),
        *(every._global_backward_hooks, every._global_backward_pre_hooks),
    )
    # accelerate and others replace `forward` on the instance instead.
    return "forward" in module.__dict__ or any(
        not getattr(hook, "only_observes", False) for some in hooks for hook in some.values()
    )


@functools.cache
def has_operator(name: str) -> bool:
    """Return whether the loaded torch_npu has the operator `name`; asked only once a tensor is on an NPU."""
    return hasattr(torch.ops.npu, name)


@functools.cache
def operator_arguments(name: str) -> dict[str, object]:
    """Return the arguments of an operator's default overload and their default values (None where there is none)."""
    schema = getattr(torch.ops.npu, name).default._schema
    return {argument.name: argument.default_value for argument in schema.arguments}


@functools.cache
def has_backward(name: str) -> bool:
    """Return whether autograd can differentiate an operator.

    An operator without a backward does not fail: it silently leaves ``.grad``
    empty. Whether there is one differs between versions of torch_npu, so the
    dispatcher is asked for a kernel of its own under the autograd key.
    """
    return has_operator(name) and torch._C._dispatch_has_kernel_for_dispatch_key(f"npu::{name}", "AutogradPrivateUse1")


def can_use_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor) -> bool:
    """Return whether :func:`npu_rms_norm` normalises `hidden_states` as the models' RMSNorm does.

    With a weight of another dtype (fp32 norm weights under a bf16 model) the
    models return the wider dtype and the operator the narrower one, hence
    both must agree.
    """
    return (
        on_npu(hidden_states)
        and on_npu(weight)
        and hidden_states.dtype == weight.dtype
        and hidden_states.dtype in FUSED_DTYPES
        and hidden_states.shape[-1:] == weight.shape
        and hidden_states.numel() > 0
        and has_operator("npu_rms_norm")
    )


def npu_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return ``weight * x / sqrt(mean(x²) + epsilon)`` over the last dimension, in one operator.

    Args:
        hidden_states: shape (…, hidden), any strides; fp16, bf16 or fp32.
        weight: shape (hidden,), same dtype.
        epsilon: added to the mean of squares.

    The operator computes in fp32 and rounds once; the models round before
    they multiply by the weight, which differs by about one unit in the last
    place for fp16 and bf16.
    """
    return torch.ops.npu.npu_rms_norm(hidden_states, weight, epsilon)[0]


def can_use_swiglu(hidden_states: torch.Tensor, activation: object) -> bool:
    """Return whether :func:`npu_swiglu` is what an MLP with this input and activation computes (SiLU, nothing else)."""
    return (
        on_npu(hidden_states)
        and is_silu(activation)
        and hidden_states.dtype in FUSED_DTYPES
        and hidden_states.numel() > 0
        and has_operator("npu_swiglu")
    )


def npu_swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Return ``silu(gate) * up``, shape (…, intermediate), in one operator behind one concatenation.

    The operator wants both halves in one contiguous tensor; concatenating
    also saves autograd from keeping ``silu(gate)``.
    """
    return torch.ops.npu.npu_swiglu(torch.cat((gate, up), dim=-1), -1)


def can_use_rotary(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> bool:
    """Return whether :func:`npu_rotary` can rotate `states` by `cos` and `sin`.

    Args:
        states: (batch, heads, length, dim), (batch, length, heads, dim) or (length, heads, dim).
        cos: of the same number of dimensions, 1 at the heads, 1 or equal at the batch, equal elsewhere.
        sin: as cos.
    """
    if not (on_npu(states) and on_npu(cos) and on_npu(sin)):
        return False
    return (
        states.dtype == cos.dtype == sin.dtype
        and states.dtype in FUSED_DTYPES
        and states.numel() > 0
        # Gradients for the tables have limits of their own, and no model here trains them.
        and not cos.requires_grad
        and not sin.requires_grad
        and cos.shape == sin.shape
        and _rotary_shapes_fit(_as_batch(states).shape, _as_batch(cos).shape)
        and has_operator("npu_rotary_mul")
    )


def npu_rotary(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return `states` rotated: ``x * cos + cat(-x2, x1) * sin``, shape and dtype of `states`, in one operator.

    The operator computes in fp32 and rounds once. See :func:`can_use_rotary`
    for the shapes.
    """
    rotated = torch.ops.npu.npu_rotary_mul(_as_batch(states), _as_batch(cos), _as_batch(sin))
    return rotated if states.dim() == _ROTARY_NDIM else rotated.squeeze(0)


def _as_batch(tensor: torch.Tensor) -> torch.Tensor:
    """Return a (length, heads, dim) tensor as a batch of one; the operator takes four dimensions."""
    return tensor.unsqueeze(0) if tensor.dim() == _ROTARY_NDIM - 1 else tensor


def _rotary_shapes_fit(states: torch.Size, table: torch.Size) -> bool:
    if len(states) != _ROTARY_NDIM or len(table) != _ROTARY_NDIM:
        return False
    if table[1] == 1 and table[2] == states[2]:
        heads = states[1]
    elif table[2] == 1 and table[1] == states[1]:
        heads = states[2]
    else:
        return False
    batch, dim = states[0], states[3]
    return (
        table[0] in (1, batch)
        and table[3] == dim
        and dim % 2 == 0
        and dim < _ROTARY_MAX_HEAD_DIM
        and max(batch, heads) < _ROTARY_MAX_BATCH_OR_HEADS
    )
