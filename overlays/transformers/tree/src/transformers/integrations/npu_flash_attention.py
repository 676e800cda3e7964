"""Changes to the NPU attention functions: names that verl imports, ignored options, documented limits."""

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
_UNLIMITED = added(2147483647, why="The operator's value for an unlimited window.")


@added(why="verl imports it from here; transformers removed it in 4.55.1.", until="5")
def index_first_axis(tensor, indices):
    """Return the rows of `tensor` at `indices`, differentiable.

    transformers has a function of this name that first flattens batch and
    length. This one does not: verl passes flat tensors of shape (tokens, …).
    """
    return tensor.index_select(0, indices)


@added(why="verl imports it from here; transformers removed it in 4.55.1.", until="5")
def pad_input(hidden_states, indices, batch, seqlen):
    """Return tokens (tokens, …) in their places in (batch, seqlen, …), with zeros as padding; undoes `unpad_input`."""
    return _pad_input(hidden_states, indices, batch, seqlen)


@added(why="verl imports it from here; transformers removed it in 4.55.1.", until="5")
def unpad_input(hidden_states, attention_mask, unused_mask=None):
    """Return the tokens of (batch, seqlen, …) that `attention_mask` keeps, and their places.

    Returns:
        The tokens (tokens, …); their indices in the flattened batch; the
        cumulative lengths, int32, from 0; the maximum length; the lengths
        without `unused_mask`.
    """
    return _unpad_input(hidden_states, attention_mask, unused_mask)


@added(why="verl imports it from here; transformers removed it in 4.55.1.", until="5")
def rearrange(tensor, pattern, **axes_lengths):
    """Return `einops.rearrange(…)`; einops is imported here, so importing transformers does not require it."""
    from einops import rearrange as einops_rearrange  # noqa: PLC0415

    return einops_rearrange(tensor, pattern, **axes_lengths)


@added(
    why="Options and shapes that the NPU operator does not support raise an error that names them. Upstream silently "
    "returned another result, or the device failed."
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
            "Deterministic attention was requested (FLASH_ATTENTION_DETERMINISTIC=1 or deterministic=True). On NPU "
            "this is a setting of the whole process: call torch.use_deterministic_algorithms(True) as well."
        )


@added(why="For joined sequences, the operator's documentation excludes queries that see no key.")
def _refuse_unseeing(ends_q, ends_k, causal, window_size):
    right = 0 if causal else window_size[1]
    unlimited = right is None or right < 0
    start_q = start_k = 0
    for end_q, end_k in zip(ends_q, ends_k, strict=True):
        queries, keys = end_q - start_q, end_k - start_k
        if (queries and not keys) or (not unlimited and queries > keys + right):
            raise NotImplementedError(
                f"NPU attention over joined sequences needs a visible key for every query; a sequence has {queries} "
                f"queries and {keys} keys. Use attn_implementation='eager'."
            )
        start_q, start_k = end_q, end_k


@added(why="Attention sinks reach the operator and get gradients, if the installed torch_npu supports them.")
def _sink_arguments(s_aux):
    if s_aux is None:
        return {}
    if not has_attention_sinks():
        raise NotImplementedError(
            "Attention with sinks (s_aux) needs torch_npu 2.6.0.post5, 2.7.1.post2, 2.8.0.post2, 2.9.0 or newer: "
            "install one of these, or use attn_implementation='eager'."
        )
    return {"sink": s_aux.float()}


@added(
    why="Models with attention sinks list the implementations that support them; on NPU there is one more.", since="5"
)
def with_npu_attention(implementations):
    """Return the flash attention implementations that a model supports; on NPU, flash_attention_2 is added."""
    return [*implementations, "flash_attention_2"] if is_torch_npu_available() else implementations


@added(why="Sliding windows reach the operator.")
def _mask_arguments(device, causal, window_size, equal_lengths):
    """Return the arguments of npu_fusion_attention that determine which keys a query sees.

    Args:
        device: the device of the mask.
        causal: whether later keys are hidden.
        window_size: how many keys before and after its own position a query
            sees; negative or None for all.
        equal_lengths: whether there are as many queries as keys. If not,
            positions are counted from the end, as in flash-attn.
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
            "With queries and keys of different lengths, a sliding window must be aligned to the end: "
            "unset NPU_FA2_SPARSE_MODE."
        )
    before, after = (_UNLIMITED if side < 0 else side for side in (left, right))
    return {"atten_mask": mask, "sparse_mode": _BAND_MASK_MODE, "pre_tockens": before, "next_tockens": after}


@replaced(
    why="Sliding windows and sinks work. Soft caps, determinism that is not switched on, and unsupported shapes raise "
    "an error. Upstream ignores all of these."
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
    """Return attention over padded batches: q (batch, length, heads, dim), k and v with as many heads or fewer."""
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
    why="As npu_flash_attn_func. Sequence lengths are copied to the host once for all layers, not twice in each "
    "layer. If there are more sequences than the operator supports, as with the windows of many images, several calls "
    "are made."
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
    """Return attention over joined sequences: q (tokens, heads, dim), cumulative lengths from 0.

    The maximum lengths are unused; flash-attn's signature has them.
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
