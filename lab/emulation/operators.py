"""Operators: `torch.ops.npu` with the schemas and the autograd of a chosen torch_npu version."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.utils._pytree import tree_map

from emulation import attention, kernels
from emulation.checks import MAX_INNER, MAX_LIST, group_ends, inner_axis, require
from emulation.log import note_operator
from emulation.memory import to_cpu, to_npu
from npu_schemas import OperatorFacts

_SPLIT_ROWS, _SPLIT_REDUCTION = 0, 2
# query, key, value, head_num, input_layout
_REQUIRED = 5
_libraries: list[torch.library.Library] = []


def register_operators(facts: OperatorFacts) -> None:
    """Define the operators of one torch_npu version, with kernels for those that are emulated."""
    library = torch.library.Library("npu", "DEF")  # kept alive below
    _libraries.append(library)
    for operator in facts.operators.values():
        library.define(operator.schema)
    # 2.5.1rc1 knows one mode, for multiples of 64.
    multiple = 2 if "rotary_mode" in _arguments("npu_rotary_mul") else 64
    emulated: dict[str, Callable[..., Any]] = {
        **_KERNELS,
        "npu_grouped_matmul": partial(_grouped_matmul, facts.splits_reduction),
        "npu_rotary_mul": partial(kernels.rotary_mul, multiple=multiple),
    }
    for name, kernel in emulated.items():
        if name not in facts.operators:
            continue
        library.impl(name, _on_memory(name, kernel), "PrivateUse1")
        if facts.operators[name].backward:
            library.impl(name, _AUTOGRAD[name], "AutogradPrivateUse1")


def _arguments(name: str) -> dict[str, Any]:
    """Return an operator's arguments in their order, each with its default or None."""
    arguments = getattr(torch.ops.npu, name).default._schema.arguments
    return {argument.name: argument.default_value for argument in arguments}


def _on_memory(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a device kernel: checks that all tensors are on the device, and computes on their CPU aliases."""

    def unwrapped(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        require(value.device.type == "npu", name, f"a tensor is on {value.device}")
        return to_cpu(value)

    def run(*args: Any, **kwargs: Any) -> Any:
        note_operator(f"npu.{name}")
        with torch.no_grad():
            result = kernel(*tree_map(unwrapped, args), **tree_map(unwrapped, kwargs))
        return tree_map(lambda value: to_npu(value) if isinstance(value, torch.Tensor) else value, result)

    return run


def _grouped_matmul(
    splits_reduction: bool, x: list[torch.Tensor], weight: list[torch.Tensor], **options: Any
) -> list[torch.Tensor]:
    name = "npu_grouped_matmul"
    group_type = options.get("group_type", _arguments(name).get("group_type"))
    require(group_type is not None, name, "Requires manual passing group_type, current is None.")
    require(options.get("split_item", 0) in (2, 3), name, "only one output (split_item 2 or 3) is emulated")
    require(options.get("bias") is None, name, "bias is not emulated")
    require(len(x) == 1 and len(weight) <= MAX_LIST, name, f"one x and at most {MAX_LIST} weights are emulated")
    require(max(map(inner_axis, (*x, *weight))) <= MAX_INNER, name, f"an inner axis is longer than {MAX_INNER}")
    return [_grouped(x[0], weight, int(group_type), splits_reduction, options)]


def _grouped(
    x: torch.Tensor,
    weight: list[torch.Tensor],
    group_type: int,
    splits_reduction: bool,
    options: dict[str, Any],
) -> torch.Tensor:
    name = "npu_grouped_matmul"
    group_list = options.get("group_list")
    list_type = options.get("group_list_type", 0)
    on_device = None if group_list is None else to_npu(group_list)
    if group_type == _SPLIT_ROWS:
        groups = len(weight) if len(weight) > 1 or weight[0].dim() == 2 else weight[0].shape[0]
        ends = group_ends(name, on_device, list_type, groups, x.shape[0])
        return kernels.split_rows(x, weight, ends)
    require(group_type == _SPLIT_REDUCTION, name, f"group_type {group_type} is not emulated")
    # 2.5.1 does not refuse: its output has the wrong shape, and the kernel writes past it.
    require(splits_reduction, name, "group_type only supports -1 and 0, but got 2")
    require(len(weight) == 1, name, "one weight when the reduction is split")
    groups = 0 if group_list is None else group_list.shape[0]
    return kernels.split_reduction(x, weight[0], group_ends(name, on_device, list_type, groups, x.shape[1]))


def _options(query: torch.Tensor, head_num: int, input_layout: str, options: dict[str, Any]) -> attention.Options:
    for name in ("pse", "padding_mask", "prefix", "dropout_mask"):
        require(options.get(name) is None, attention.NAME, f"{name} is not emulated")
    mask = options.get("atten_mask")
    require(mask is None or mask.device == query.device, attention.NAME, "atten_mask must be on the device")
    return attention.Options(
        layout=input_layout,
        heads=head_num,
        scale=options.get("scale", 1.0),
        keep_prob=options.get("keep_prob", 1.0),
        before=options.get("pre_tockens", 2147483647),
        after=options.get("next_tockens", 2147483647),
        mode=options.get("sparse_mode", 0),
        mask=mask,
        sink=options.get("sink"),
        ends_q=options.get("actual_seq_qlen"),
        ends_k=options.get("actual_seq_kvlen"),
    )


def _by_name(name: str, required: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the optional arguments by name; the dispatcher hands them over by position, up to the last one given."""
    return {**dict(zip([*_arguments(name)][required:], args, strict=False)), **kwargs}


def _fusion_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *args: Any,
    **kwargs: Any,
) -> tuple[Any, ...]:
    options = _options(query, head_num, input_layout, _by_name(attention.NAME, _REQUIRED, args, kwargs))
    output = attention.attend(query, key, value, options)
    rows = query.shape[:-1] if input_layout != "BSND" else (query.shape[0], query.shape[2], query.shape[1])
    statistics = torch.zeros(*rows, 8)
    return output, statistics, statistics.clone(), torch.empty(0), 0, 0, 0


_KERNELS: dict[str, Callable[..., Any]] = {
    "npu_cross_entropy_loss": kernels.cross_entropy_loss,
    "npu_rms_norm": kernels.rms_norm,
    "npu_swiglu": kernels.swiglu,
    "npu_moe_token_permute": kernels.moe_token_permute,
    "npu_moe_token_unpermute": kernels.moe_token_unpermute,
    "npu_fusion_attention": _fusion_attention,
}


def _below_autograd(name: str, *args: Any, **kwargs: Any) -> Any:
    with torch._C._AutoDispatchBelowAutograd():
        return getattr(torch.ops.npu, name).default(*args, **kwargs)


def _device_backward(name: str, function: Callable[..., Any], *args: Any) -> Any:
    return _on_memory(f"{name}_backward", function)(*args)


class _RmsNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> tuple[torch.Tensor, torch.Tensor]:
        y, rstd = _below_autograd("npu_rms_norm", x, gamma, epsilon)
        ctx.save_for_backward(x, gamma, rstd)
        ctx.mark_non_differentiable(rstd)
        return y, rstd

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor, _: Any) -> tuple[Any, ...]:
        d_x, d_gamma = _device_backward("npu_rms_norm", kernels.rms_norm_backward, gradient, *ctx.saved_tensors)
        return d_x, d_gamma, None


class _Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, dim: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.dim = dim
        return _below_autograd("npu_swiglu", x, dim)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        return _device_backward("npu_swiglu", kernels.swiglu_backward, gradient, *ctx.saved_tensors, ctx.dim), None


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, target: torch.Tensor, given: dict[str, Any]) -> tuple[torch.Tensor, ...]:
        loss, log_probs, *more = _below_autograd("npu_cross_entropy_loss", x, target, **given)
        ctx.save_for_backward(log_probs, target)
        ctx.ignored = given.get("ignore_index", -100)
        ctx.mark_non_differentiable(log_probs, *more)
        return loss, log_probs, *more

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> tuple[Any, ...]:
        backward = kernels.cross_entropy_loss_backward
        d_x = _device_backward("npu_cross_entropy_loss", backward, gradient, *ctx.saved_tensors, ctx.ignored)
        return d_x, None, None


class _RotaryMul(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, *mode: str) -> torch.Tensor:
        require(not cos.requires_grad and not sin.requires_grad, "npu_rotary_mul", "table gradients are not emulated")
        ctx.save_for_backward(x, cos, sin)
        ctx.mode = mode
        return _below_autograd("npu_rotary_mul", x, cos, sin, *mode)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        mode = ctx.mode[0] if ctx.mode else "half"
        d_x = _device_backward("npu_rotary_mul", kernels.rotary_mul_backward, gradient, *ctx.saved_tensors, mode)
        return (d_x, None, None, *(None for _ in ctx.mode))


class _Permute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tokens: torch.Tensor, indices: torch.Tensor, *rest: Any) -> tuple[torch.Tensor, torch.Tensor]:
        permuted, positions = _below_autograd("npu_moe_token_permute", tokens, indices, *rest)
        ctx.save_for_backward(positions)
        ctx.mark_non_differentiable(positions)
        ctx.rest, ctx.top_k = len(rest), indices.numel() // tokens.shape[0]
        return permuted, positions

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor, _: Any) -> tuple[Any, ...]:
        (positions,) = ctx.saved_tensors
        backward = kernels.moe_token_permute_backward
        d_tokens = _device_backward("npu_moe_token_permute", backward, gradient, positions, ctx.top_k)
        return (d_tokens, None, *(None for _ in range(ctx.rest)))


class _Unpermute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, permuted: torch.Tensor, positions: torch.Tensor, probs: torch.Tensor | None) -> torch.Tensor:
        ctx.save_for_backward(permuted, positions, probs)
        return _below_autograd("npu_moe_token_unpermute", permuted, positions, probs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[Any, ...]:
        backward = kernels.moe_token_unpermute_backward
        d_permuted, d_probs = _device_backward("npu_moe_token_unpermute", backward, gradient, *ctx.saved_tensors)
        return d_permuted, None, d_probs


class _FusionAttention(torch.autograd.Function):
    @staticmethod
    def forward(  # noqa: PLR0913, PLR0917  # the operator's own arguments
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        sink: torch.Tensor | None,
        heads: int,
        layout: str,
        given: dict[str, Any],
    ) -> tuple[Any, ...]:
        sinks = {} if sink is None else {"sink": sink}
        outputs = _below_autograd("npu_fusion_attention", query, key, value, heads, layout, **given, **sinks)
        ctx.save_for_backward(query, key, value, sink)
        ctx.heads, ctx.layout, ctx.given = heads, layout, given
        ctx.mark_non_differentiable(*outputs[1:4])
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> tuple[Any, ...]:
        given = tree_map(lambda value: to_cpu(value) if isinstance(value, torch.Tensor) else value, ctx.given)

        def backward(gradient: torch.Tensor, *saved: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
            leaves = [None if state is None else state.detach().requires_grad_() for state in saved]
            query, key, value, sink = leaves
            options = _options(query, ctx.heads, ctx.layout, {**given, "sink": sink})
            with torch.enable_grad():
                output = attention.attend(query, key, value, options)
            found = iter(torch.autograd.grad(output, [leaf for leaf in leaves if leaf is not None], gradient))
            return tuple(None if leaf is None else next(found) for leaf in leaves)

        gradients = _device_backward("npu_fusion_attention", backward, gradient, *ctx.saved_tensors)
        return (*gradients, None, None, None)


def _fusion_attention_autograd(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    head_num: int,
    input_layout: str,
    *args: Any,
    **kwargs: Any,
) -> Any:
    given = _by_name(attention.NAME, _REQUIRED, args, kwargs)
    sink = given.pop("sink", None)
    return _FusionAttention.apply(query, key, value, sink, head_num, input_layout, given)


def _cross_entropy_autograd(x: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
    return _CrossEntropy.apply(x, target, _by_name("npu_cross_entropy_loss", 2, args, kwargs))


def _unpermute_autograd(
    permuted: torch.Tensor, positions: torch.Tensor, probs: Any = None, *rest: Any, **more: Any
) -> Any:
    require(not any(rest) and not any(more.values()), "npu_moe_token_unpermute", "not emulated")
    return _Unpermute.apply(permuted, positions, probs)


_AUTOGRAD: dict[str, Callable[..., Any]] = {
    "npu_cross_entropy_loss": _cross_entropy_autograd,
    "npu_rms_norm": lambda x, gamma, epsilon=1e-6: _RmsNorm.apply(x, gamma, epsilon),
    "npu_swiglu": lambda x, dim=-1: _Swiglu.apply(x, dim),
    "npu_rotary_mul": _RotaryMul.apply,
    "npu_moe_token_permute": _Permute.apply,
    "npu_moe_token_unpermute": _unpermute_autograd,
    "npu_fusion_attention": _fusion_attention_autograd,
}
