"""Fused Ascend NPU operators (RMSNorm, SwiGLU, rotary embeddings) and the inputs that NPU operators support.

Each kernel has a predicate (``can_use_…``). It is true if the operator computes
the model's result for these inputs, within the limits that its documentation
states in every version of torch_npu that a stack names. If it is false, callers
run their own PyTorch code. So nothing changes on CPU, on GPU, for tensor
subclasses such as DTensor, or if torch_npu lacks the operator. Attention has no
such fallback: unsupported inputs raise an error that names the limit.

torch_npu is never imported here. A tensor can only be on an NPU after
something imported torch_npu, and that import fills ``torch.ops.npu``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.modules import module as every
from torch.utils.weak import WeakTensorKeyDictionary

# The dtypes that fused operators support on Atlas A2 and A3; fp64 and integers use PyTorch's own operators.
FUSED_DTYPES = (torch.float16, torch.bfloat16, torch.float32)

# A model's own function that rotates the numbers of a head for its rotary embedding.
Rotate = Callable[[torch.Tensor], torch.Tensor]

# The operators' limits in torch_npu's documentation. 1M and 1K are taken as the smaller of their meanings. If versions
# differ, or one contradicts itself, the limit is what all of them allow.
_MIN_NORM_DIMS = 2
_MAX_DIMS = 8
_ROTARY_MAX_HEAD_DIM = 896
_ROTARY_MAX_BATCH_OR_HEADS = 1000
_ROTARY_NDIM = 4
_PERMUTE_MAX_TOP_K = 512
_PERMUTE_MAX_PAIRS = 2**24 - 1
_ATTENTION_MAX_HEAD_DIM = 768
_ATTENTION_MAX_HEADS = 256
_ATTENTION_MAX_TOKENS = 1_000_000
_ATTENTION_MAX_SEQUENCES = 1000

# Cache: a tensor on the device -> its version and the values that were copied to the host.
_read: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


def on_npu(tensor: torch.Tensor) -> bool:
    """Return whether `tensor` is a plain tensor in NPU memory.

    Subclasses are excluded on purpose. DTensor needs torch_npu's sharding rules
    for the fused operators. 2.6.0.post5, 2.7.1.post2, 2.8.0.post2, 2.9.0 and
    newer have them; older versions have at most those of attention and norms.
    Other subclasses support only PyTorch's operators.
    """
    return tensor.device.type == "npu" and type(tensor) in (torch.Tensor, nn.Parameter)


def autocast_enabled(device: torch.device) -> bool:
    """Return whether autocast is on for `device`; upstream asks about the GPU for every device."""
    return torch.is_autocast_enabled("npu") if device.type == "npu" else torch.is_autocast_enabled()


def autocast_dtype(device: torch.device) -> torch.dtype:
    """Return the dtype in which autocast computes on `device`."""
    return torch.get_autocast_dtype("npu") if device.type == "npu" else torch.get_autocast_gpu_dtype()


def product_dtype(tensor: torch.Tensor) -> torch.dtype:
    """Return the dtype of a matrix product of `tensor`: autocast's if it is on, else the tensor's."""
    return autocast_dtype(tensor.device) if autocast_enabled(tensor.device) else tensor.dtype


def is_silu(activation: object) -> bool:
    """Return whether an activation is SiLU, of torch or of transformers 4.57 and newer; no subclass, no hooks."""
    from ..activations import ACT2CLS  # noqa: PLC0415  # from 4.57 on, it imports this module by way of the hub's kernels

    return type(activation) in (nn.SiLU, ACT2CLS["silu"]) and not is_hooked(activation)


def is_hooked(module: nn.Module) -> bool:
    """Return whether calling `module` may run more than its class's forward; a fused operator would skip that.

    Global hooks count too. A hook that only observes can state this with the
    attribute ``only_observes = True``. It is then ignored here, even if the
    fused operator does not call it, because observation must not change what
    runs. The hooks of npu-recipes' dumps have the attribute.
    """
    hooks = (
        *(module._forward_hooks, module._forward_pre_hooks, module._backward_hooks, module._backward_pre_hooks),
        *(every._global_forward_hooks, every._global_forward_pre_hooks),
        *(every._global_backward_hooks, every._global_backward_pre_hooks),
    )
    # accelerate and others replace `forward` on the instance; the package kernels puts the class's own there.
    own = module.__dict__.get("forward")
    is_replaced = own is not None and getattr(own, "__func__", None) is not type(module).forward
    return is_replaced or any(not getattr(hook, "only_observes", False) for some in hooks for hook in some.values())


def _answered_once(function: Callable[..., bool]) -> Callable[..., bool]:
    """Return `function` with its answers cached; torch.compile calls it instead of tracing it."""
    answers = functools.cache(function)

    @functools.wraps(function)
    def answer(*question: str) -> bool:
        return answers(*question)

    # torch.compiler.assume_constant_result does the same, but imports the compiler.
    answer.__dict__["_dynamo_marked_constant"] = True
    return answer


@_answered_once
def has_operator(name: str) -> bool:
    """Return whether the loaded torch_npu has the operator `name`; call it only when a tensor is on an NPU."""
    return hasattr(torch.ops.npu, name)


@functools.cache
def operator_arguments(name: str) -> dict[str, object]:
    """Return the arguments of an operator's default overload and their default values (None if there is none)."""
    schema = getattr(torch.ops.npu, name).default._schema
    return {argument.name: argument.default_value for argument in schema.arguments}


@_answered_once
def has_argument(name: str, argument: str) -> bool:
    """Return whether the operator `name` of the loaded torch_npu has an argument called `argument`."""
    return argument in operator_arguments(name)


@_answered_once
def has_backward(name: str) -> bool:
    """Return whether autograd can differentiate an operator.

    An operator without a backward does not fail: it silently leaves ``.grad``
    empty. Versions of torch_npu differ in this, so the answer comes from the
    dispatcher: a backward is a kernel of the operator's own for the autograd key.
    """
    return has_operator(name) and torch._C._dispatch_has_kernel_for_dispatch_key(f"npu::{name}", "AutogradPrivateUse1")


def can_use_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor) -> bool:
    """Return whether :func:`npu_rms_norm` and :func:`npu_offset_rms_norm` compute the models' norm of these inputs."""
    return (
        on_npu(hidden_states)
        and on_npu(weight)
        and hidden_states.dtype in FUSED_DTYPES
        and weight.dtype in FUSED_DTYPES
        and _MIN_NORM_DIMS <= hidden_states.dim() <= _MAX_DIMS
        and hidden_states.shape[-1:] == weight.shape
        and hidden_states.numel() > 0
        and has_operator("npu_rms_norm")
    )


def npu_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return ``weight * x / sqrt(mean(x²) + epsilon)`` over the last dimension, in one operator.

    Args:
        hidden_states: shape (…, hidden), any strides; fp16, bf16 or fp32.
        weight: shape (hidden,); its dtype may differ, as under autocast.
        epsilon: added to the mean of squares.

    Returns:
        The shape of `hidden_states`, and the dtype of the product of both, as
        in the models. The operator's documentation requires one dtype, so the
        narrower one is widened first.

    The operator computes in fp32 and rounds once. The models round before they
    multiply by the weight; the results differ by about one unit in the last
    place of the dtype of `hidden_states`.
    """
    dtype = torch.promote_types(hidden_states.dtype, weight.dtype)
    return torch.ops.npu.npu_rms_norm(hidden_states.to(dtype), weight.to(dtype), epsilon)[0]


def npu_offset_rms_norm(hidden_states: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return ``(1 + weight) * x / sqrt(mean(x²) + epsilon)`` over the last dimension, in the dtype of `hidden_states`.

    For models whose parameter is the scale minus 1. As in the models, the sum is computed
    in fp32, where it is exact, and the result is rounded once.
    """
    return npu_rms_norm(hidden_states, 1.0 + weight.float(), epsilon).to(hidden_states.dtype)


def can_use_swiglu(hidden_states: torch.Tensor, activation: object) -> bool:
    """Return whether :func:`npu_swiglu` computes what an MLP with this input and activation does; only for SiLU."""
    return (
        on_npu(hidden_states)
        and is_silu(activation)
        and hidden_states.dtype in FUSED_DTYPES
        and hidden_states.dim() <= _MAX_DIMS
        and hidden_states.numel() > 0
        and has_operator("npu_swiglu")
    )


def npu_swiglu(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Return ``silu(gate) * up``, shape (…, intermediate), by one concatenation and one operator.

    The operator needs both halves in one contiguous tensor. Autograd then does
    not have to keep ``silu(gate)``.
    """
    return npu_gated(torch.cat((gate, up), dim=-1))


def npu_gated(gate_and_up: torch.Tensor) -> torch.Tensor:
    """Return ``silu(gate) * up`` of a tensor whose last dimension holds gate and up, in this order."""
    return torch.ops.npu.npu_swiglu(gate_and_up.contiguous(), -1)


def can_use_rotary(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> bool:
    """Return whether :func:`npu_rotary` can rotate `states` by `cos` and `sin`.

    Args:
        states: (batch, heads, length, dim), (batch, length, heads, dim) or (length, heads, dim).
        cos: as many dimensions; size 1 for the heads, 1 or the same for the batch, the same for the rest.
        sin: like `cos`.
    """
    if not (on_npu(states) and on_npu(cos) and on_npu(sin)):
        return False
    return (
        {states.dtype, cos.dtype, sin.dtype} <= {*FUSED_DTYPES}
        and states.numel() > 0
        # Gradients of the tables have their own limits, and no model here trains them.
        and not cos.requires_grad
        and not sin.requires_grad
        and cos.shape == sin.shape
        and has_operator("npu_rotary_mul")
        and _rotary_shapes_fit(_as_batch(states).shape, _as_batch(cos).shape)
    )


def npu_rotary(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return `states` rotated: ``x * cos + cat(-x2, x1) * sin``, the shape of `states`, in one operator.

    The dtype is that of the product of all three, as in the models; narrower
    inputs are widened, which is exact. The operator computes in fp32 and rounds
    once. See :func:`can_use_rotary` for the shapes.
    """
    x, cos, sin = _of_product_dtype(states, cos, sin)
    rotated = torch.ops.npu.npu_rotary_mul(x, cos, sin)
    return rotated if states.dim() == _ROTARY_NDIM else rotated.squeeze(0)


def can_use_rotary_pairs(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> bool:
    """Return whether :func:`npu_rotary_pairs` can rotate `states`; shapes as in :func:`can_use_rotary`."""
    return can_use_rotary(states, cos, sin) and has_argument("npu_rotary_mul", "rotary_mode")


def npu_rotary_pairs(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Return `states` rotated in neighbouring pairs: ``x * cos + stack(-x[1::2], x[::2]) * sin``.

    In this mode the operator needs the same tables for all sequences. If each
    has its own, or there are too many, the sequences are joined into one.
    """
    x, cos, sin = _of_product_dtype(states, cos, sin)
    heads_first = _heads_first(x.shape, cos.shape)
    heads = x.shape[1] if heads_first else x.shape[2]
    if cos.shape[0] == 1 and x.shape[0] * heads < _ROTARY_MAX_BATCH_OR_HEADS:
        rotated = torch.ops.npu.npu_rotary_mul(x, cos, sin, rotary_mode="interleave")
    else:
        by_token = [one.transpose(1, 2) if heads_first else one for one in (x, cos, sin)]
        batch, length = by_token[0].shape[:2]
        x, cos, sin = (one.expand(batch, -1, -1, -1).reshape(1, batch * length, *one.shape[2:]) for one in by_token)
        rotated = torch.ops.npu.npu_rotary_mul(x, cos, sin, rotary_mode="interleave").view(by_token[0].shape)
        rotated = rotated.transpose(1, 2) if heads_first else rotated
    return rotated if states.dim() == _ROTARY_NDIM else rotated.squeeze(0)


def rotated(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, rotate: Rotate) -> torch.Tensor:
    """Return ``states * cos + rotate(states) * sin``: by :func:`npu_rotary` if possible, else exactly as the model.

    `rotate` returns ``cat(-x2, x1)`` of the halves.
    """
    usable = can_use_rotary(states, cos, sin)
    return npu_rotary(states, cos, sin) if usable else (states * cos) + (rotate(states) * sin)


def rotated_pairs(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, rotate: Rotate) -> torch.Tensor:
    """Return :func:`rotated` by :func:`npu_rotary_pairs`; `rotate` gives ``stack(-x[1::2], x[::2])`` of neighbours."""
    usable = can_use_rotary_pairs(states, cos, sin)
    return npu_rotary_pairs(states, cos, sin) if usable else (states * cos) + (rotate(states) * sin)


def _of_product_dtype(states: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> list[torch.Tensor]:
    """Return all three in the dtype of their product, as batches."""
    dtype = torch.promote_types(torch.promote_types(states.dtype, cos.dtype), sin.dtype)
    return [_as_batch(one.to(dtype)) for one in (states, cos, sin)]


def _as_batch(tensor: torch.Tensor) -> torch.Tensor:
    """Return a (length, heads, dim) tensor as a batch of one; the operator needs four dimensions."""
    return tensor.unsqueeze(0) if tensor.dim() == _ROTARY_NDIM - 1 else tensor


def _rotary_shapes_fit(states: torch.Size, table: torch.Size) -> bool:
    if len(states) != _ROTARY_NDIM or len(table) != _ROTARY_NDIM:
        return False
    if _heads_first(states, table):
        heads = states[1]
    elif table[2] == 1 and table[1] == states[1]:
        heads = states[2]
    else:
        return False
    batch, dim = states[0], states[3]
    # 2.5.1rc1 has only this mode and needs multiples of 64.
    multiple = 2 if has_argument("npu_rotary_mul", "rotary_mode") else 64
    return (
        table[0] in (1, batch)
        and table[3] == dim
        and dim % multiple == 0
        and dim < _ROTARY_MAX_HEAD_DIM
        and max(batch, heads) < _ROTARY_MAX_BATCH_OR_HEADS
    )


def _heads_first(states: torch.Size, table: torch.Size) -> bool:
    """Return whether heads come before tokens; the shape of the table, which has one head, shows it."""
    return table[1] == 1 and table[2] == states[2]


def can_use_permute(tokens: torch.Tensor, selected: torch.Tensor) -> bool:
    """Return whether `npu_moe_token_permute` and `npu_moe_token_unpermute` support these inputs, with a backward.

    Args:
        tokens: shape (tokens, hidden); before 2.14 both operators are documented for bf16 only.
        selected: shape (tokens, top_k): the experts of each token.
    """
    return (
        tokens.dtype == torch.bfloat16
        and selected.shape[1] <= _PERMUTE_MAX_TOP_K
        and selected.numel() < _PERMUTE_MAX_PAIRS
        and has_backward("npu_moe_token_permute")
        and has_backward("npu_moe_token_unpermute")
    )


@functools.cache
def has_attention_sinks() -> bool:
    """Return whether attention supports sinks and their gradients (2.6.0.post5, 2.7.1.post2, 2.8.0.post2, 2.9.0)."""
    gradients = torch.ops.npu.npu_fusion_attention_grad.default._schema.returns
    # Of queries, keys, values, position embeddings and sinks.
    return has_argument("npu_fusion_attention", "sink") and len(gradients) == 5  # noqa: PLR2004


def attention_misfit(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> str:
    """Return the limit of attention that these exceed, as text, or ""; shapes (…, length, heads, head dim)."""
    if query.dtype not in FUSED_DTYPES or not query.dtype == key.dtype == value.dtype:
        return "queries, keys and values of one dtype: fp16, bf16 or fp32"
    if not query.numel() or not key.numel() or key.shape[:-1] != value.shape[:-1]:
        return "at least one token, and as many values as keys"
    if not query.shape[-1] == key.shape[-1] <= _ATTENTION_MAX_HEAD_DIM or value.shape[-1] > key.shape[-1]:
        return f"heads of up to {_ATTENTION_MAX_HEAD_DIM} numbers, as many in keys as in queries, no more in values"
    if query.shape[-2] > _ATTENTION_MAX_HEADS or query.shape[-2] % key.shape[-2]:
        return f"up to {_ATTENTION_MAX_HEADS} query heads, as many for each key head"
    return ""


def ends_on_host(cumulative: torch.Tensor) -> list[int]:
    """Return the end of each joined sequence, from their cumulative lengths, which start at 0.

    No attention operator of torch_npu reads lengths on the device. That of v3,
    in 2.10.0.post4 and 2.14.0, takes a tensor, but it must be on the CPU. So the
    host waits for the device: once for all layers that share a tensor of
    lengths, and for their recomputation.
    """
    if cumulative.is_inference():  # such tensors have no version
        return cumulative[1:].tolist()
    version, ends = _read.get(cumulative, (None, []))
    if version != cumulative._version:
        ends = cumulative[1:].tolist()
        _read[cumulative] = (cumulative._version, ends)
    return ends


def attention_runs(ends_q: list[int], ends_k: list[int]) -> list[tuple[list[int], list[int]]]:
    """Return consecutive sequences in runs, such that each run fits one call of attention.

    Args:
        ends_q: the end of each sequence's queries.
        ends_k: the end of each sequence's keys.

    Returns:
        `ends_q` and `ends_k` of each run, counted from its start.

    Raises:
        NotImplementedError: a single sequence is too long.
    """
    bounds = [0]
    for end in range(2, len(ends_q) + 1):
        if not _fit_one_call(bounds[-1], end, ends_q, ends_k):
            bounds.append(end - 1)
    runs = list(zip(bounds, [*bounds[1:], len(ends_q)], strict=True))
    if not all(_fit_one_call(*run, ends_q, ends_k) for run in runs):
        raise NotImplementedError(f"NPU attention is limited to sequences of {_ATTENTION_MAX_TOKENS} tokens.")
    return [(_ends_within(*run, ends_q), _ends_within(*run, ends_k)) for run in runs]


def _fit_one_call(first: int, end: int, *ends: list[int]) -> bool:
    tokens = [one[end - 1] - (one[first - 1] if first else 0) for one in ends]
    return max(tokens) <= _ATTENTION_MAX_TOKENS and end - first <= _ATTENTION_MAX_SEQUENCES


def _ends_within(first: int, end: int, ends: list[int]) -> list[int]:
    start = ends[first - 1] if first else 0
    return [one - start for one in ends[first:end]]
