"""Linear attention over packed sequences, switched on by a training framework, and over several ranks.

Linear attention carries a state from token to token. Where a row holds several
sequences, one behind another, it carries the state from one into the next
unless it is told where they begin; and what runs in plain torch, where there
are no kernels, cannot be told. Switched on, every sequence begins without a
state, whatever runs. As for flash attention, one begins where its position is 0.

With a Ulysses group registered each rank holds a slice of the row. Heads have
nothing to do with each other: around convolution and delta rule the slices are
exchanged, so that each rank sees whole sequences for some of the heads.

A training framework switches it on once::

    from transformers.integrations.packed_linear_attention import separate_packed_sequences
    separate_packed_sequences()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from itertools import accumulate, pairwise
from typing import Any

import torch
import torch.nn.functional as F

from .ulysses import (
    split_text_positions,
    ulysses_exchange,
    ulysses_gather_length,
    ulysses_group,
    ulysses_share,
)

_separate = False

# What need not be told where sequences begin; frameworks leave these, and the models around them, alone.
SEPARATING_LAYERS = (
    "Qwen3_5DecoderLayer",
    "Qwen3_5GatedDeltaNet",
    "Qwen3_5MoeDecoderLayer",
    "Qwen3_5MoeGatedDeltaNet",
)

# (batch, length, channels)
_LENGTH, _CHANNELS = 1, 2


def separate_packed_sequences(*, separate: bool = True) -> None:
    """Have :data:`SEPARATING_LAYERS` begin every packed sequence without a state, or do as upstream does."""
    global _separate  # noqa: PLW0603  # one process, one way to train
    _separate = separate


def packed_lengths(
    position_ids: torch.Tensor | None, attention_mask: torch.Tensor | None, *, sliced: bool
) -> list[int] | None:
    """Return how long the sequences are that a row holds; None for one, and where nothing is to be separated.

    With a Ulysses group registered that is so whether it was asked for or not: kernels are called here then.

    Args:
        position_ids: (batch, length), or four rows of that, of which the first is of the text.
        attention_mask: None, or all 1, for what is packed, as for flash attention; others are padded, one sequence in
            each row.
        sliced: whether, with a Ulysses group registered, positions are of this rank's slice.
    """
    if not (_separate or ulysses_group()) or position_ids is None or position_ids.shape[-2] != 1:
        return None
    if attention_mask is not None and not bool((attention_mask == 1).all()):
        return None
    text, others = split_text_positions(position_ids)
    position_ids = others if text is None else text
    if position_ids.dim() > _CHANNELS:
        return None
    whole = ulysses_gather_length(position_ids) if sliced else position_ids
    starts = (whole[0] == 0).nonzero().flatten().tolist()
    bounds = [0, *(start for start in starts if start), whole.shape[-1]]
    lengths = [end - start for start, end in pairwise(bounds)]
    return lengths if len(lengths) > 1 else None


def told_lengths(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return of a layer's options what linear attention is told, nothing where there is nothing to be told."""
    return {"packed_lengths": options["packed_lengths"]} if "packed_lengths" in options else {}


def separated_gated_delta(
    net: Any,
    hidden_states: torch.Tensor,
    cache_params: Any,
    attention_mask: torch.Tensor | None,
    lengths: list[int] | None,
) -> torch.Tensor:
    """Return what a gated delta net makes of sequences that it begins one by one.

    Args:
        net: such a module of transformers'.
        hidden_states: (batch, length, hidden), this rank's slice where a Ulysses group is registered; batch 1 where
            it is packed.
        cache_params: None: there is none to continue from.
        attention_mask: None: nothing is padded.
        lengths: of the packed sequences, together as long as the row; None for one in each row.

    Returns:
        as hidden_states.

    Raises:
        NotImplementedError: with a cache or with padding.
        ValueError: if the ranks cannot share the heads.
    """
    if cache_params is not None or attention_mask is not None:
        raise NotImplementedError(
            "linear attention takes packed sequences, and those that are split over ranks, without a cache and without "
            "padding: pass use_cache=False and no attention mask"
        )
    sizes = [net.key_dim, net.key_dim, net.value_dim]
    mixed = torch.cat([_whole(net, part) for part in net.in_proj_qkv(hidden_states).split(sizes, dim=-1)], dim=-1)
    weight = torch.cat([ulysses_share(part) for part in net.conv1d.weight.squeeze(1).split(sizes)])
    beta = _whole(net, net.in_proj_b(hidden_states)).sigmoid()
    bias = ulysses_share(net.dt_bias)
    decay = -ulysses_share(net.A_log).float().exp() * F.softplus(
        _whole(net, net.in_proj_a(hidden_states)).float() + bias
    )
    query, key, value = _convolved(net, mixed, weight, lengths).split(
        [size * weight.shape[0] // sum(sizes) for size in sizes], dim=-1
    )
    repeats = net.num_v_heads // net.num_k_heads
    query, key = (
        one.unflatten(-1, (-1, net.head_k_dim)).repeat_interleave(repeats, dim=_CHANNELS) for one in (query, key)
    )
    value = value.unflatten(-1, (-1, net.head_v_dim))
    output = _delta_rule(net.chunk_gated_delta_rule, (query, key, value), decay, beta, lengths)
    output = ulysses_exchange(output.flatten(_CHANNELS), scatter=_LENGTH, gather=_CHANNELS)
    gate = net.in_proj_z(hidden_states).reshape(-1, net.head_v_dim)
    output = net.norm(output.reshape(-1, net.head_v_dim), gate)
    return net.out_proj(output.reshape(*hidden_states.shape[:-1], -1))


def _whole(net: Any, states: torch.Tensor) -> torch.Tensor:
    """Return (batch, length, channels / ranks) of (batch, length / ranks, channels)."""
    group = ulysses_group()
    if group is not None and net.num_k_heads % group.size():
        raise ValueError(
            f"{net.num_k_heads} key heads of linear attention cannot be shared evenly by {group.size()} ranks"
        )
    return ulysses_exchange(states, scatter=_CHANNELS, gather=_LENGTH)


def _convolved(net: Any, mixed: torch.Tensor, weight: torch.Tensor, lengths: list[int] | None) -> torch.Tensor:
    """Return the causal convolution along the length, activated, of each sequence alone."""
    states = mixed.transpose(_LENGTH, _CHANNELS)
    if net.causal_conv1d_fn is not None:
        numbers = None
        if lengths is not None:
            numbers = [number for number, length in enumerate(lengths) for _ in range(length)]
            numbers = torch.tensor([numbers], dtype=torch.int32, device=mixed.device)
        found = net.causal_conv1d_fn(x=states, weight=weight, bias=None, activation=net.activation, seq_idx=numbers)
        return found.transpose(_LENGTH, _CHANNELS)
    parts = states.split(lengths if lengths is not None else states.shape[-1], dim=-1)
    convolve = net.conv1d if ulysses_group() is None else _convolution(weight)
    convolved = [convolve(part)[..., : part.shape[-1]] for part in parts]
    return F.silu(torch.cat(convolved, dim=-1)).transpose(_LENGTH, _CHANNELS)


def _convolution(weight: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return what convolves, as the module does with its weight, with this rank's share of it."""
    return partial(F.conv1d, weight=weight.unsqueeze(1), padding=weight.shape[-1] - 1, groups=len(weight))


def _delta_rule(
    rule: Any, states: tuple[torch.Tensor, ...], decay: torch.Tensor, beta: torch.Tensor, lengths: list[int] | None
) -> torch.Tensor:
    """Return (batch, length, heads, value dim), by a kernel for all sequences together or by plain torch for each."""
    told = {"initial_state": None, "output_final_state": False, "use_qk_l2norm_in_kernel": True}
    if lengths is None:
        return rule(*states, g=decay, beta=beta, **told)[0]
    # Named, and not among arguments that are taken and ignored.
    if "cu_seqlens" in signature(rule).parameters:
        bounds = torch.tensor([0, *accumulate(lengths)], device=beta.device)
        return rule(*states, g=decay, beta=beta, cu_seqlens=bounds, **told)[0]
    parts = zip(*(one.split(lengths, dim=_LENGTH) for one in (*states, decay, beta)), strict=True)
    return torch.cat([rule(*three, g=g, beta=b, **told)[0] for *three, g, b in parts], dim=_LENGTH)
