"""Linear attention that keeps packed sequences apart, and that runs on several Ulysses ranks.

Linear attention carries a state from token to token. If a row packs several
sequences, it carries the state from one into the next unless it knows where
they begin, and the plain torch functions that run without kernels cannot know.
If this module is switched on, each sequence starts with an empty state, with
kernels or without. As in flash attention, a sequence begins where its position
is 0.

With a Ulysses group registered, each rank holds a slice of the row. Heads are
independent of each other. So ranks exchange slices before the convolution and
after the delta rule; in between, each rank has whole sequences for some heads.

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

# These layers keep packed sequences apart; frameworks do not patch them, nor the models around them.
SEPARATING_LAYERS = (
    "Qwen3_5DecoderLayer",
    "Qwen3_5GatedDeltaNet",
    "Qwen3_5MoeDecoderLayer",
    "Qwen3_5MoeGatedDeltaNet",
)

# (batch, length, channels)
_LENGTH, _CHANNELS = 1, 2


def separate_packed_sequences(*, separate: bool = True) -> None:
    """Make :data:`SEPARATING_LAYERS` start each packed sequence with an empty state, or restore upstream's way."""
    global _separate  # noqa: PLW0603  # one process, one way to train
    _separate = separate


def packed_lengths(
    position_ids: torch.Tensor | None, attention_mask: torch.Tensor | None, *, sliced: bool
) -> list[int] | None:
    """Return the lengths of the sequences that a row packs; None for a single one, or if this is switched off.

    A registered Ulysses group switches it on too, because :func:`separated_gated_delta` then calls the kernels.

    Args:
        position_ids: (batch, length), or (4, batch, length) with the text's positions first.
        attention_mask: None or all ones for packed rows, as in flash attention; otherwise rows are padded, with one
            sequence each.
        sliced: whether the positions are this rank's slice, if a Ulysses group is registered.
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


def packed_length_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword argument for linear attention that a layer's own keyword arguments hold, if any."""
    return {"packed_lengths": options["packed_lengths"]} if "packed_lengths" in options else {}


def separated_gated_delta(
    net: Any,
    hidden_states: torch.Tensor,
    cache_params: Any,
    attention_mask: torch.Tensor | None,
    lengths: list[int] | None,
) -> torch.Tensor:
    """Return the output of a gated delta net that starts each sequence with an empty state.

    Args:
        net: a gated delta net of transformers.
        hidden_states: (batch, length, hidden); with a Ulysses group registered, this rank's slice; batch 1 if packed.
        cache_params: must be None.
        attention_mask: must be None.
        lengths: the lengths of the packed sequences, whose sum is the row's length; None if each row is one sequence.

    Returns:
        The shape of `hidden_states`.

    Raises:
        NotImplementedError: there is a cache or padding.
        ValueError: the ranks cannot share the heads.
    """
    if cache_params is not None or attention_mask is not None:
        raise NotImplementedError(
            "linear attention supports neither a cache nor padding if sequences are packed or split over ranks: pass "
            "use_cache=False and no attention mask"
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
    """Return (batch, length, channels / ranks), exchanged from (batch, length / ranks, channels)."""
    group = ulysses_group()
    if group is not None and net.num_k_heads % group.size():
        raise ValueError(
            f"{net.num_k_heads} key heads of linear attention cannot be shared evenly by {group.size()} ranks"
        )
    return ulysses_exchange(states, scatter=_CHANNELS, gather=_LENGTH)


def _convolved(net: Any, mixed: torch.Tensor, weight: torch.Tensor, lengths: list[int] | None) -> torch.Tensor:
    """Return the activated causal convolution of each sequence by itself."""
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
    """Return the module's convolution with this rank's share of its weight."""
    return partial(F.conv1d, weight=weight.unsqueeze(1), padding=weight.shape[-1] - 1, groups=len(weight))


def _delta_rule(
    rule: Any, states: tuple[torch.Tensor, ...], decay: torch.Tensor, beta: torch.Tensor, lengths: list[int] | None
) -> torch.Tensor:
    """Return (batch, length, heads, value dim): one kernel for all sequences, or plain torch for each of them."""
    options = {"initial_state": None, "output_final_state": False, "use_qk_l2norm_in_kernel": True}
    if lengths is None:
        return rule(*states, g=decay, beta=beta, **options)[0]
    # A named parameter; a rule with **kwargs would ignore the argument.
    if "cu_seqlens" in signature(rule).parameters:
        bounds = torch.tensor([0, *accumulate(lengths)], device=beta.device)
        return rule(*states, g=decay, beta=beta, cu_seqlens=bounds, **options)[0]
    parts = zip(*(one.split(lengths, dim=_LENGTH) for one in (*states, decay, beta)), strict=True)
    return torch.cat([rule(*three, g=g, beta=b, **options)[0] for *three, g, b in parts], dim=_LENGTH)
