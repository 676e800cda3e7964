"""Attention: `npu_fusion_attention` in plain PyTorch on CPU, with its layouts, mask modes and refusals."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import torch

from emulation.checks import COMPRESSED_MASK, require, same_float_dtype

NAME = "npu_fusion_attention"
_MASKED = torch.finfo(torch.float32).min
_FULL, _ALL, _TOP_LEFT, _DOWN_RIGHT, _BAND = 0, 1, 2, 3, 4
# Where documents say 1M and 1K without saying which, the smaller; and of several numbers the smallest.
MAX_LENGTH = 1_000_000
MAX_SEQUENCES = 1000


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a call of the operator says beside the tensors."""

    layout: str
    heads: int
    scale: float
    keep_prob: float
    before: int
    after: int
    mode: int
    mask: torch.Tensor | None
    ends_q: list[int] | None
    ends_k: list[int] | None
    sink: torch.Tensor | None = None


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: Options) -> torch.Tensor:
    """Return attention's output in the layout of the query; differentiable, so a backward needs no code."""
    _check(query, key, value, options)
    if options.layout == "TND":
        return _joined(query, key, value, options)
    to_heads_first = (0, 2, 1, 3) if options.layout == "BSND" else (0, 1, 2, 3)
    query, key, value = (states.permute(to_heads_first) for states in (query, key, value))
    output = _batch(query, key, value, options)
    return output.permute(to_heads_first).contiguous()


def _joined(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: Options) -> torch.Tensor:
    assert options.ends_q is not None  # _check says so
    assert options.ends_k is not None  # likewise
    outputs = []
    starts = zip([0, *options.ends_q], options.ends_q, [0, *options.ends_k], options.ends_k, strict=False)
    for start_q, end_q, start_k, end_k in starts:
        parts = (query[start_q:end_q], key[start_k:end_k], value[start_k:end_k])
        one_q, one_k, one_v = (part.transpose(0, 1).unsqueeze(0) for part in parts)
        inner = dataclasses.replace(options, layout="BNSD", ends_q=None, ends_k=None)
        output = _batch(one_q, one_k, one_v, inner, joined=True)
        outputs.append(output.squeeze(0).transpose(0, 1))
    return torch.cat(outputs)


def _batch(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: Options, *, joined: bool = False
) -> torch.Tensor:
    """Attention over (batch, heads, length, dim)."""
    repeats = query.shape[1] // key.shape[1]
    key, value = (states.repeat_interleave(repeats, 1).float() for states in (key, value))
    logits = query.float() @ key.transpose(-1, -2) * options.scale
    hidden = _hidden(query.shape[2], key.shape[2], options)
    empty = None if hidden is None else hidden.all(-1, keepdim=True)
    if hidden is not None and empty is not None:
        require(not joined or not bool(empty.any()), NAME, "TND forbids queries that see no key")
        logits = logits.masked_fill(hidden, _MASKED)
    if options.sink is not None:
        sink = options.sink.view(1, -1, 1, 1).expand(*logits.shape[:3], 1)
        logits = torch.cat((logits, sink), -1)
    weights = logits.softmax(-1)[..., : key.shape[2]]
    if empty is not None:
        # Where the mode tells that there are such queries they come out as zero; of given masks nothing is said.
        weights = weights.masked_fill(empty, torch.nan if options.mode in (_FULL, _ALL) else 0.0)
    if options.keep_prob < 1:
        weights = weights * torch.bernoulli(torch.full_like(weights, options.keep_prob)) / options.keep_prob
    return (weights @ value).to(query.dtype)


def _hidden(length_q: int, length_k: int, options: Options) -> torch.Tensor | None:
    """Return which keys each query does not see, or None; without a mask all else is ignored, as on the device."""
    if options.mask is None:
        return None
    if options.mode in (_FULL, _ALL):
        return options.mask.bool()
    place_q = torch.arange(length_q).unsqueeze(1)
    place_k = torch.arange(length_k).unsqueeze(0)
    if options.mode == _TOP_LEFT:
        return place_k > place_q
    distance = place_k - (place_q + length_k - length_q)
    if options.mode == _DOWN_RIGHT:
        return distance > 0
    return (distance < -options.before) | (distance > options.after)


def _check(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: Options) -> None:
    same_float_dtype(NAME, query, key, value)
    require(options.layout in ("BSND", "BNSD", "TND"), NAME, f"layout {options.layout} is not emulated")
    heads = {"BSND": 2, "BNSD": 1, "TND": 1}[options.layout]
    require(query.dim() == (3 if options.layout == "TND" else 4), NAME, "the layout does not fit the dimensions")
    require(query.shape[heads] == options.heads, NAME, f"head_num must be {query.shape[heads]}, not {options.heads}")
    require(options.heads <= 256, NAME, "at most 256 heads")
    require(options.heads % key.shape[heads] == 0, NAME, "key heads must divide query heads")
    require(query.shape[-1] == key.shape[-1] >= value.shape[-1], NAME, "head dimensions do not fit")
    require(0 < query.shape[-1] <= 768, NAME, "the head dimension must be at most 768")
    length = {"BSND": 1, "BNSD": 2, "TND": 0}[options.layout]
    lengths = (query.shape[length], key.shape[length])
    require(min(lengths) > 0 and max(lengths) <= MAX_LENGTH, NAME, f"1 to {MAX_LENGTH} tokens, not {lengths}")
    require(_is_sink(options.sink, options.heads), NAME, "sink must be fp32, one number for each head")
    require(0 < options.keep_prob <= 1, NAME, "keep_prob must be in (0, 1]")
    require(options.mode in range(_BAND + 1), NAME, f"sparse_mode {options.mode} is not emulated")
    _check_mask(options)
    _check_lengths(query, key, options)


def _is_sink(sink: torch.Tensor | None, heads: int) -> bool:
    return sink is None or (sink.dtype == torch.float32 and sink.shape == (heads,))


def _check_mask(options: Options) -> None:
    if options.mask is None:
        return
    require(options.mask.dtype in (torch.bool, torch.uint8), NAME, "atten_mask must be bool or uint8")
    if options.mode in (_TOP_LEFT, _DOWN_RIGHT, _BAND):
        shape = (COMPRESSED_MASK, COMPRESSED_MASK)
        require(options.mask.shape == shape, NAME, f"sparse_mode {options.mode} takes a mask of {shape}")
        wanted = torch.ones(shape, dtype=torch.bool).triu(1)
        require(bool((options.mask.bool() == wanted).all()), NAME, "the compressed mask must be upper triangular")


def _check_lengths(query: torch.Tensor, key: torch.Tensor, options: Options) -> None:
    if options.layout != "TND":
        return
    require(options.ends_q is not None and options.ends_k is not None, NAME, "TND needs actual_seq_qlen and _kvlen")
    for ends, states in ((options.ends_q, query), (options.ends_k, key)):
        assert ends is not None  # checked above
        require(sorted(ends) == ends and ends[-1] == states.shape[0], NAME, f"lengths {ends} must ascend to the total")
    sequences = len(options.ends_q or ())
    require(sequences == len(options.ends_k or ()), NAME, "as many query as key sequences")
    require(sequences <= MAX_SEQUENCES, NAME, f"at most {MAX_SEQUENCES} sequences, not {sequences}")
