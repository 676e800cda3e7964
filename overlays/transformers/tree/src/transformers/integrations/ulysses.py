"""Ulysses sequence parallelism for flash attention, switched on by registering a process group.

Each rank holds a slice of every sequence. Around attention the slices are
exchanged (all-to-all) so that each rank sees whole sequences for some of the
heads, and back. With no group registered every function here passes through.

A training framework says of each model that ranks share its sequences, and how
their current group is found: see :mod:`.ulysses_models`, which refuses what
they could not share.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

GroupGetter = Callable[[], Any]
_group_getter: GroupGetter | None = None

# The text models that slice their input here, once images have become embeddings; frameworks leave these alone.
SLICED_MODELS = (
    "Qwen2VLTextModel",
    "Qwen2_5_VLTextModel",
    "Qwen3VLTextModel",
    "Qwen3VLMoeTextModel",
    "Qwen3_5TextModel",
    "Qwen3_5MoeTextModel",
    "Glm4vTextModel",
)

# Of models that read images: (rows, batch, length), the first row of the text, the others of time, height and width.
_ROWS, _DIMENSIONS = 4, 3
POSITIONS_MISSING = (
    "Ulysses sequence parallelism needs the text's position_ids: pass them to the model's forward, (batch, length); to "
    "a model that reads images four rows of them, (4, batch, length), the text's first."
)
_NO_ENCODER = (
    "Ulysses sequence parallelism shares no attention of a text model that is neither causal nor told positions: "
    "encoders, and attention to another sequence. Split no sequences."
)
_NO_LAYER_POSITIONS = (
    "Ulysses sequence parallelism needs position_ids where a layer attends, and {layer} was given none: its model was "
    "not, or hands none on. Split no sequences with such a model."
)
_NO_MASK = (
    "Ulysses sequence parallelism takes no attention mask where a layer attends, and {layer} was given one: call "
    "transformers.integrations.ulysses_models.share_sequences for its model, or have no group while it runs."
)
_NO_CACHE = (
    "Ulysses sequence parallelism shares no attention to a cache, {keys} keys for {queries} queries: generate with "
    "whole sequences and no group of ranks."
)
# What attention gets in Ulysses: (batch, length, heads, head dim).
_LENGTH = 1
_HEADS = 2


def register_ulysses_group(getter: GroupGetter | None) -> None:
    """Register the function that returns the current sequence-parallel process group, or None.

    It is called at every attention, so a framework may switch groups between
    models. Registering None switches sequence parallelism off. No model is asked
    whether ranks can share it: `share_sequences` does both.
    """
    global _group_getter  # noqa: PLW0603  # one process, one way to find the group
    _group_getter = getter


def ulysses_group() -> Any:
    """Return the process group sequences are split over, or None where there is none or it has one rank."""
    group = _group_getter() if _group_getter is not None else None
    return group if group is not None and dist.get_world_size(group) > 1 else None


def reads_text(config: Any) -> bool:
    """Return whether a model, or a layer of one, is of text: vision towers, which no one slices, have no vocabulary."""
    return hasattr(config.get_text_config(), "vocab_size")


def ulysses_attention(
    attention: Callable[..., torch.Tensor],
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    query_length: int,
    *,
    is_causal: bool,
    position_ids: torch.Tensor | None = None,
    **kwargs: Any,
) -> torch.Tensor:
    """Call `attention` on whole sequences while this rank holds a slice of them.

    Args:
        attention: what computes attention, called with these arguments but the next.
        module: the layer that attends, with its `config`.
        query: (batch, length / ranks, heads, head dim).
        key: (batch, length / ranks, key-value heads, head dim).
        value: as key.
        attention_mask: with a group None, which :mod:`.ulysses_models` sees to.
        query_length: length of the slice; recomputed for the whole sequence.
        is_causal: whether attention is causal.
        position_ids: (…, length / ranks); required for causal attention, as
            they tell where packed sequences begin. Bidirectional attention
            of vision towers, which no one slices, passes through.
        kwargs: handed on as they are; `cu_seq_lens_q` and the like must
            describe whole sequences.

    Returns:
        (batch, length / ranks, heads, head dim).

    Raises:
        NotImplementedError: with a group registered, for what cannot be shared: an encoder of text, a mask, a cache,
            sinks.
        ValueError: with a group registered, if there are no positions, or the ranks cannot share the heads.
    """
    group = ulysses_group()
    if group is None or not (is_causal or reads_text(module.config)):
        return attention(
            query, key, value, attention_mask, query_length, is_causal=is_causal, position_ids=position_ids, **kwargs
        )
    _refuse_unshared(type(module).__name__, attention_mask, position_ids, is_causal=is_causal)
    _refuse_unexchanged(query, key, kwargs.get("s_aux"))
    ranks = dist.get_world_size(group)
    key, value = (_spread_heads(states, query, ranks) for states in (key, value))
    query, key, value = (_AllToAll.apply(group, states, _HEADS, _LENGTH) for states in (query, key, value))
    output = attention(
        query,
        key,
        value,
        None,
        query.shape[_LENGTH],
        is_causal=is_causal,
        position_ids=_gather_length(position_ids, group),
        **kwargs,
    )
    return _AllToAll.apply(group, output, _LENGTH, _HEADS)


def ulysses_slice(tensor: torch.Tensor | None, dim: int) -> torch.Tensor | None:
    """Return this rank's slice of `tensor` along `dim`, or `tensor` itself with no group registered."""
    group = ulysses_group()
    if group is None or tensor is None:
        return tensor
    ranks = dist.get_world_size(group)
    if tensor.shape[dim] % ranks:
        raise ValueError(
            f"a sequence of length {tensor.shape[dim]} cannot be split evenly over {ranks} ranks: pad it first"
        )
    return tensor.chunk(ranks, dim=dim)[dist.get_rank(group)].contiguous()


def ulysses_slice_inputs(
    embeddings: torch.Tensor, position_ids: torch.Tensor | None
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return this rank's slices of a text model's embeddings and positions, or these themselves with no group.

    Args:
        embeddings: (batch, length, hidden), of whole sequences: images are put into these, so each rank has all.
        position_ids: (…, length).

    Raises:
        ValueError: with a group registered, if the ranks cannot share the length.
    """
    return ulysses_slice(embeddings, 1), ulysses_slice(position_ids, -1)


def split_text_positions(position_ids: torch.Tensor | None) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the text's row of four rows of positions, None where there are not four, and the other rows."""
    if position_ids is None or position_ids.dim() != _DIMENSIONS or len(position_ids) != _ROWS:
        return None, position_ids
    return position_ids[0], position_ids[1:]


def ulysses_slice_marked(rows: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """Return those of `rows` whose places lie in this rank's slice, or all of them with no group registered.

    Args:
        rows: shape (places, …), one for each True of `marks`, in their order.
        marks: shape (batch, length), bool, of whole sequences.
    """
    group = ulysses_group()
    if group is None:
        return rows
    mine = torch.zeros_like(marks)
    mine.chunk(dist.get_world_size(group), dim=_LENGTH)[dist.get_rank(group)].fill_(True)
    return rows[mine[marks]]


def ulysses_share(parameter: torch.Tensor) -> torch.Tensor:
    """Return this rank's share of a parameter that has an entry, or several, for each head, or all with no group."""
    group = ulysses_group()
    return parameter if group is None else parameter.chunk(dist.get_world_size(group))[dist.get_rank(group)]


def ulysses_exchange(states: torch.Tensor, *, scatter: int, gather: int) -> torch.Tensor:
    """Return states of which ranks share one dimension where they shared another, or the same with no group.

    Args:
        states: whole along `scatter`, this rank's share along `gather`.
        scatter: the dimension of which this rank keeps a share; a multiple of the ranks.
        gather: the dimension that becomes whole.
    """
    group = ulysses_group()
    return states if group is None else _AllToAll.apply(group, states, scatter, gather)


def ulysses_gather_length(tensor: torch.Tensor) -> torch.Tensor:
    """Return the slices of all ranks joined along the last dimension, or `tensor` with no group; no gradients."""
    group = ulysses_group()
    return tensor if group is None else _gather_length(tensor, group)


def _refuse_unshared(layer: str, attention_mask: Any, position_ids: torch.Tensor | None, *, is_causal: bool) -> None:
    if position_ids is None and not is_causal:
        raise NotImplementedError(_NO_ENCODER)
    if position_ids is None:
        raise ValueError(_NO_LAYER_POSITIONS.format(layer=layer))
    if attention_mask is not None:
        raise NotImplementedError(_NO_MASK.format(layer=layer))


def _refuse_unexchanged(query: torch.Tensor, key: torch.Tensor, sinks: Any) -> None:
    if query.shape[_LENGTH] != key.shape[_LENGTH]:
        raise NotImplementedError(_NO_CACHE.format(keys=key.shape[_LENGTH], queries=query.shape[_LENGTH]))
    if sinks is not None:
        raise NotImplementedError("Ulysses sequence parallelism does not split attention sinks (s_aux) over ranks.")


def _spread_heads(states: torch.Tensor, query: torch.Tensor, ranks: int) -> torch.Tensor:
    """Return key or value states with enough heads for every rank; flash attention takes fewer of them than queries."""
    heads = states.shape[_HEADS]
    if query.shape[_HEADS] % ranks or (heads % ranks and ranks % heads):
        raise ValueError(
            f"{query.shape[_HEADS]} attention heads with {heads} key-value heads cannot be spread over {ranks} ranks: "
            "the first must be a multiple of the ranks, the second a multiple or a divisor"
        )
    return states.repeat_interleave(ranks // heads, dim=_HEADS) if heads < ranks else states


def _gather_length(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    """Return the slices of all ranks joined along the last dimension; not differentiable."""
    tensor = tensor.contiguous()
    slices = [torch.empty_like(tensor) for _ in range(dist.get_world_size(group))]
    dist.all_gather(slices, tensor, group=group)
    return torch.cat(slices, dim=-1)


class _AllToAll(torch.autograd.Function):
    """Scatter one dimension over the ranks and gather another; the backward does the reverse."""

    @staticmethod
    def forward(ctx: Any, group: Any, states: torch.Tensor, scatter: int, gather: int) -> torch.Tensor:
        ctx.group, ctx.scatter, ctx.gather = group, scatter, gather
        return _all_to_all(group, states, scatter, gather)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, torch.Tensor, None, None]:
        return None, _all_to_all(ctx.group, gradient, ctx.gather, ctx.scatter), None, None


def _all_to_all(group: Any, states: torch.Tensor, scatter: int, gather: int) -> torch.Tensor:
    outgoing = torch.stack(states.chunk(dist.get_world_size(group), dim=scatter))
    incoming = torch.empty_like(outgoing)
    dist.all_to_all_single(incoming, outgoing, group=group)
    return torch.cat(incoming.unbind(0), dim=gather)
