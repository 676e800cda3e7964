"""Changes to the NPU attention functions: the names verl imports, options that were dropped, documented limits."""

import math
from typing import TYPE_CHECKING

import torch

from npu_overlays.markers import added, replaced

from ..modeling_flash_attention_utils import _pad_input, _unpad_input
from .npu_kernels import attention_misfit, attention_runs, ends_on_host, has_attention_sinks

if TYPE_CHECKING:
    from transformers.integrations.npu_flash_attention import (
        SPARSE_MODE,
        TOP_LEFT_ALIGNED_CAUSAL_MASK_MODE,
        get_attn_mask_npu,
        is_torch_npu_available,
    )


_BAND_MASK_MODE = added(4, why="The operator's mode for sliding windows.")
_UNLIMITED = added(2147483647, why="The operator's value for a window that does not end.")


@added(why="verl imports it from here; transformers dropped it in 4.55.1.", until="5")
def index_first_axis(tensor, indices):
    """Return the rows of `tensor` at `indices`, differentiable.

    Unlike the function of that name inside transformers it does not flatten
    batch and length first: verl passes tensors that already are flat, of
    shape (tokens, …).
    """
    return tensor.index_select(0, indices)


@added(why="verl imports it from here; transformers dropped it in 4.55.1.", until="5")
def pad_input(hidden_states, indices, batch, seqlen):
    """Return (tokens, …) put back to (batch, seqlen, …), zero where no token was; undoes `unpad_input`."""
    return _pad_input(hidden_states, indices, batch, seqlen)


@added(why="verl imports it from here; transformers dropped it in 4.55.1.", until="5")
def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """Return the tokens of (batch, seqlen, …) that `attention_mask` keeps, and where they were.

    Returns:
        The tokens (tokens, …); their indices in the flattened batch; the
        cumulative lengths, int32, from 0; the greatest length; the lengths
        without `unused_mask`.
    """
    return _unpad_input(hidden_states, attention_mask, unused_mask)


@added(why="verl imports it from here; transformers dropped it in 4.55.1.", until="5")
def rearrange(tensor, pattern, **axes_lengths):
    """Return `einops.rearrange`; einops is imported here so that importing transformers does not need it."""
    from einops import rearrange as einops_rearrange  # noqa: PLC0415

    return einops_rearrange(tensor, pattern, **axes_lengths)


@added(
    why="Options the NPU operator cannot honour, and shapes it is not documented for, are an error that names them "
    "instead of a silently different result, or the device's error."
)
def _refuse_unsupported(q, k, v, softcap, deterministic, others):
    if softcap:
        raise NotImplementedError("Attention with a soft cap has no NPU operator: use attn_implementation='eager'.")
    if misfit := attention_misfit(q, k, v):
        raise NotImplementedError(f"NPU attention is limited to {misfit}: use attn_implementation='eager'.")
    unknown = sorted(name for name, value in others.items() if value is not None and value is not False)
    if unknown:
        raise TypeError(f"NPU flash attention does not know: {', '.join(unknown)}")
    needs_backward = torch.is_grad_enabled() and q.requires_grad
    if deterministic and needs_backward and not torch.are_deterministic_algorithms_enabled():
        raise RuntimeError(
            "Deterministic attention was asked for (FLASH_ATTENTION_DETERMINISTIC=1 or deterministic=True); on NPU "
            "it is switched for the whole process: call torch.use_deterministic_algorithms(True) as well."
        )


@added(why="In joined sequences the operator is documented to take no query that sees no key.")
def _refuse_unseeing(ends_q, ends_k, causal, window_size):
    right = 0 if causal else window_size[1]
    unlimited = right is None or right < 0
    start_q = start_k = 0
    for end_q, end_k in zip(ends_q, ends_k, strict=True):
        queries, keys = end_q - start_q, end_k - start_k
        if (queries and not keys) or (not unlimited and queries > keys + right):
            raise NotImplementedError(
                f"NPU attention over joined sequences takes no query that sees no key: {queries} queries have {keys} "
                "keys. Use attn_implementation='eager'."
            )
        start_q, start_k = end_q, end_k


@added(why="Attention sinks reach the operator, and get their gradients, where torch_npu has them.")
def _sink_arguments(s_aux):
    if s_aux is None:
        return {}
    if not has_attention_sinks():
        raise NotImplementedError(
            "Attention with sinks (s_aux) is in torch_npu from 2.6.0.post5, 2.7.1.post2, 2.8.0.post2 and 2.9.0 on: "
            "install one of these or a newer one, or use attn_implementation='eager'."
        )
    return {"sink": s_aux.float()}


@added(why="Models with attention sinks name the implementations that have them: on NPU it is one more.", since="5")
def with_npu_attention(implementations):
    """Return the names of a model's implementations of flash attention, on NPU with that of the device's own."""
    return [*implementations, "flash_attention_2"] if is_torch_npu_available() else implementations


@added(why="Sliding windows reach the operator.")
def _mask_arguments(device, causal, window_size, equal_lengths):
    """Return the arguments of npu_fusion_attention that say which keys a query sees.

    Args:
        device: where the mask is needed.
        causal: whether later keys are hidden.
        window_size: how many keys before and after its own place a query
            sees; negative or None for all.
        equal_lengths: whether there are as many queries as keys. Where not,
            places are counted from the end, as in flash-attn.
    """
    left, right = (-1 if side is None else side for side in window_size)
    right = 0 if causal else right
    if left < 0 and right < 0:
        return {}
    mask = get_attn_mask_npu(device)
    if left < 0 and causal:
        return {"atten_mask": mask, "sparse_mode": SPARSE_MODE}
    if SPARSE_MODE == TOP_LEFT_ALIGNED_CAUSAL_MASK_MODE and not equal_lengths:
        raise NotImplementedError(
            "A sliding window over queries and keys of different lengths is only available aligned to the end: "
            "unset NPU_FA2_SPARSE_MODE."
        )
    before, after = (_UNLIMITED if side < 0 else side for side in (left, right))
    return {"atten_mask": mask, "sparse_mode": _BAND_MASK_MODE, "pre_tockens": before, "next_tockens": after}


@replaced(
    why="Sliding windows and sinks work; soft caps, unmet determinism and what the operator is not documented for are "
    "errors; all were ignored before."
)
def npu_flash_attn_func(
    q,
    k,
    v,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    deterministic=False,
    s_aux=None,
    **kwargs,
):
    """Attention over padded batches: q (batch, length, heads, dim), k and v with as many heads or fewer."""
    _refuse_unsupported(q, k, v, softcap, deterministic, kwargs)
    attention_runs([q.shape[1]], [k.shape[1]])
    return torch.ops.npu.npu_fusion_attention(
        q,
        k,
        v,
        q.shape[2],
        "BSND",
        keep_prob=1.0 - dropout_p,
        scale=1.0 / math.sqrt(q.shape[-1]) if softmax_scale is None else softmax_scale,
        **_mask_arguments(q.device, causal, window_size, q.shape[1] == k.shape[1]),
        **_sink_arguments(s_aux),
    )[0]


@replaced(
    why="As npu_flash_attn_func; the sequence lengths are read back to the host once for all layers that share them, "
    "not twice in each; and of more sequences than the operator is documented to take at once, as of the windows of "
    "many images, several calls are made."
)
def npu_flash_attn_varlen_func(
    q,
    k,
    v,
    cu_seqlens_q,
    cu_seqlens_k,
    max_seqlen_q=None,
    max_seqlen_k=None,
    dropout_p=0.0,
    softmax_scale=None,
    causal=False,
    window_size=(-1, -1),
    softcap=0.0,
    deterministic=False,
    s_aux=None,
    **kwargs,
):
    """Attention over sequences joined to one: q (tokens, heads, dim), cumulative lengths from 0.

    The greatest lengths are taken for the sake of flash-attn's signature and not needed.
    """
    _refuse_unsupported(q, k, v, softcap, deterministic, kwargs)
    ends_q = ends_on_host(cu_seqlens_q)
    ends_k = ends_q if cu_seqlens_k is cu_seqlens_q else ends_on_host(cu_seqlens_k)
    _refuse_unseeing(ends_q, ends_k, causal, window_size)
    outputs = []
    start_q = start_k = 0
    for run_q, run_k in attention_runs(ends_q, ends_k):
        end_q, end_k = start_q + run_q[-1], start_k + run_k[-1]
        output = torch.ops.npu.npu_fusion_attention(
            q[start_q:end_q],
            k[start_k:end_k],
            v[start_k:end_k],
            q.shape[1],
            "TND",
            keep_prob=1.0 - dropout_p,
            scale=1.0 / math.sqrt(q.shape[-1]) if softmax_scale is None else softmax_scale,
            actual_seq_qlen=run_q,
            actual_seq_kvlen=run_k,
            **_mask_arguments(q.device, causal, window_size, ends_q == ends_k),
            **_sink_arguments(s_aux),
        )[0]
        outputs.append(output)
        start_q, start_k = end_q, end_k
    return outputs[0] if len(outputs) == 1 else torch.cat(outputs)
