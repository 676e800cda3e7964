"""Ulysses sequence parallelism for flash attention; registering a process group switches it on.

Each rank holds a slice of every sequence. Before attention, ranks exchange
slices (all-to-all), so that each rank has whole sequences for some heads; after
attention they exchange them back. Without a registered group, every function
here returns its input unchanged.

A training framework calls :mod:`.ulysses_models` for each model whose sequences
ranks share. It refuses models that ranks cannot share, and registers the
function that returns the current group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch.autograd.function import once_differentiable

GroupGetter = Callable[[], Any]
_group_getter: GroupGetter | None = None

# These text models slice their embeddings, images included; frameworks do not patch them for that.
SLICED_MODELS = (
    "Qwen2VLTextModel",
    "Qwen2_5_VLTextModel",
    "Qwen3VLTextModel",
    "Qwen3VLMoeTextModel",
    "Qwen3_5TextModel",
    "Qwen3_5MoeTextModel",
    "Glm4vTextModel",
)

# Positions in models that read images: (rows, batch, length), with rows for text, time, height and width.
_ROWS, _DIMENSIONS = 4, 3
POSITIONS_MISSING = (
    "Ulysses sequence parallelism needs the text's position_ids: pass (batch, length) to the model's forward, or, if "
    "it reads images, (4, batch, length) with the text's positions first."
)
_NO_ENCODER = (
    "Ulysses sequence parallelism does not support text attention that is not causal and has no position_ids, as in "
    "encoders and cross-attention. Do not split sequences."
)
_NO_LAYER_POSITIONS = (
    "Ulysses sequence parallelism needs position_ids in attention, and {layer} received none: its model received "
    "none, or does not pass them on. Pass them to the model, or do not split sequences."
)
_NO_MASK = (
    "Ulysses sequence parallelism does not support an attention mask, and {layer} received one: call "
    "transformers.integrations.ulysses_models.share_sequences for its model, or return no group while it runs."
)
_NO_CACHE = (
    "Ulysses sequence parallelism does not support a cache, and there are {keys} keys for {queries} queries: generate "
    "with whole sequences and without a group."
)
# Dimensions of attention's inputs: (batch, length, heads, head dim).
_LENGTH = 1
_HEADS = 2


def register_ulysses_group(getter: GroupGetter | None) -> None:
    """Register the function that returns the current sequence-parallel process group, or None.

    Every attention calls it, so a framework may switch groups between models.
    Registering None switches sequence parallelism off. Models are not checked
    here: `share_sequences` checks them and registers the function.
    """
    global _group_getter  # noqa: PLW0603  # one process, one way to find the group
    _group_getter = getter


def ulysses_group() -> Any:
    """Return the process group that sequences are split over; None if there is none or it has one rank."""
    group = _group_getter() if _group_getter is not None else None
    return group if group is not None and dist.get_world_size(group) > 1 else None


def reads_text(config: Any) -> bool:
    """Return whether a model or layer with this configuration reads text; vision towers have no vocabulary."""
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
        attention: computes attention; called with all of these arguments except `module`.
        module: the attention layer, with its `config`.
        query: (batch, length / ranks, heads, head dim).
        key: (batch, length / ranks, key-value heads, head dim).
        value: the shape of `key`.
        attention_mask: must be None if a group is registered; :mod:`.ulysses_models` removes it.
        query_length: length of the slice; recomputed for the whole sequence.
        is_causal: whether attention is causal.
        position_ids: (…, length / ranks); required for causal attention, as
            they show where packed sequences begin. Bidirectional attention of
            vision towers runs unchanged, because their input is not sliced.
        kwargs: passed on unchanged; `cu_seq_lens_q` and the like must describe
            whole sequences.

    Returns:
        (batch, length / ranks, heads, head dim).

    Raises:
        NotImplementedError: a group is registered, and there is a text encoder, a mask, a cache or sinks.
        ValueError: a group is registered, and there are no positions or the ranks cannot share the heads.
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
    """Return this rank's slice of `tensor` along `dim`; `tensor` itself without a registered group."""
    group = ulysses_group()
    if group is None or tensor is None:
        return tensor
    ranks = dist.get_world_size(group)
    if tensor.shape[dim] % ranks:
        raise ValueError(
            f"a sequence of length {tensor.shape[dim]} cannot be split evenly over {ranks} ranks: pad it first"
        )
    return tensor.chunk(ranks, dim=dim)[dist.get_rank(group)].contiguous()


def ulysses_inputs(
    embed: Callable[[torch.Tensor], torch.Tensor],
    input_ids: torch.Tensor | None,
    embeddings: torch.Tensor | None,
    position_ids: torch.Tensor | None,
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the embeddings and positions with which a text model computes on this rank.

    Args:
        embed: embeds token ids.
        input_ids: (batch, length), embedded if there are no embeddings; already this rank's slice.
        embeddings: None, or (batch, length, hidden) of whole sequences. Images were inserted into them, so they could
            not be sliced before and are sliced here.
        position_ids: (…, length), sliced together with `embeddings`.

    Raises:
        ValueError: a group is registered, and the ranks cannot share the length.
    """
    if embeddings is None:
        return embed(input_ids), position_ids
    return ulysses_slice(embeddings, 1), ulysses_slice(position_ids, -1)


def ulysses_slice_images(
    marks: torch.Tensor | None, features: list[torch.Tensor] | None
) -> tuple[torch.Tensor | None, list[torch.Tensor] | None]:
    """Return this rank's slice of the image positions, and the image features of each layer that lie in the slice.

    Args:
        marks: None, or (batch, length), bool: the positions of images in whole sequences.
        features: None, or for each layer (images' tokens, hidden), one row for each True of `marks`.
    """
    if features is not None:
        features = [ulysses_slice_marked(rows, marks) for rows in features]
    return ulysses_slice(marks, 1), features


def split_text_positions(position_ids: torch.Tensor | None) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """Return the text's row of (4, batch, length) positions and the other rows; None and the input for other shapes."""
    if position_ids is None or position_ids.dim() != _DIMENSIONS or len(position_ids) != _ROWS:
        return None, position_ids
    return position_ids[0], position_ids[1:]


def ulysses_slice_marked(rows: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """Return those of `rows` that belong to this rank's slice; all of them without a registered group.

    Args:
        rows: shape (marked positions, …), one for each True of `marks`, in their order.
        marks: shape (batch, length), bool, for whole sequences.
    """
    group = ulysses_group()
    if group is None:
        return rows
    mine = torch.zeros_like(marks)
    mine.chunk(dist.get_world_size(group), dim=_LENGTH)[dist.get_rank(group)].fill_(True)
    return rows[mine[marks]]


def ulysses_share(parameter: torch.Tensor) -> torch.Tensor:
    """Return this rank's heads of a parameter whose first dimension is grouped by head; all without a group."""
    group = ulysses_group()
    return parameter if group is None else parameter.chunk(dist.get_world_size(group))[dist.get_rank(group)]


def ulysses_exchange(states: torch.Tensor, *, scatter: int, gather: int) -> torch.Tensor:
    """Return states after an all-to-all exchange between ranks; `states` itself without a group.

    Args:
        states: whole along `scatter`, this rank's share along `gather`.
        scatter: the dimension of which this rank keeps its share; its size is a multiple of the ranks.
        gather: the dimension that becomes whole.
    """
    group = ulysses_group()
    return states if group is None else _AllToAll.apply(group, states, scatter, gather)


def ulysses_gather_length(tensor: torch.Tensor) -> torch.Tensor:
    """Return the slices of all ranks, concatenated along the last dimension; `tensor` without a group; no gradients."""
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
    """Return key or value states with at least one head for each rank; there may be fewer heads than in queries."""
    heads = states.shape[_HEADS]
    if query.shape[_HEADS] % ranks or (heads % ranks and ranks % heads):
        raise ValueError(
            f"{query.shape[_HEADS]} attention heads with {heads} key-value heads cannot be spread over {ranks} ranks: "
            "the attention heads must be a multiple of the ranks, the key-value heads a multiple or a divisor"
        )
    return states.repeat_interleave(ranks // heads, dim=_HEADS) if heads < ranks else states


def _gather_length(tensor: torch.Tensor, group: Any) -> torch.Tensor:
    """Return the slices of all ranks, concatenated along the last dimension; not differentiable."""
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
