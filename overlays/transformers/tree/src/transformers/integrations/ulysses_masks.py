"""Masks and Ulysses sequence parallelism: what attention could not exchange between ranks is refused, on all of them.

Every model of transformers' that makes causal masks by its functions asks here before attention runs, in each forward:
the implementation of attention may be another one by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist

from .ulysses import ulysses_group, ulysses_slice, ulysses_slice_positions

# (batch, length)
_DIMENSIONS = 2
_PADDED = (
    "Ulysses sequence parallelism takes no padding and no attention mask but one of ones: pack sequences into one row, "
    "with position_ids that begin at 0 where each of them begins."
)


def ulysses_mask_arguments(
    prepare: Callable[..., Any], config: Any, embeddings: torch.Tensor, attention_mask: Any, *others: Any
) -> Any:
    """Return what transformers' `prepare` makes of a causal mask's arguments, with a group registered of slices.

    Raises:
        NotImplementedError: with a group registered, if attention exchanges nothing, or if there is padding.
    """
    if ulysses_group() is not None:
        _refuse_unexchanged(config._attn_implementation)
    return prepare(config, embeddings, ulysses_unpadded(attention_mask, sliced=True), *others)


def ulysses_unpadded(attention_mask: Any, *, sliced: bool) -> Any:
    """Return the mask itself with no group registered; with one None, once it is known to be of ones.

    Args:
        attention_mask: None, or of ones, (batch, length).
        sliced: whether it is of this rank's slice: then the ranks, each of which has one, agree on what they found.

    Raises:
        NotImplementedError: on every rank, if the mask of any has another element, or is no such mask.
    """
    group = ulysses_group()
    if group is None or attention_mask is None:
        return attention_mask
    if not isinstance(attention_mask, torch.Tensor) or attention_mask.dim() != _DIMENSIONS:
        raise NotImplementedError(_PADDED)
    padded = (attention_mask != 1).any().to(torch.int32)
    if sliced:
        # Where one rank alone stopped, the others would wait for it in attention.
        dist.all_reduce(padded, op=dist.ReduceOp.MAX, group=group)
    if padded:
        raise NotImplementedError(_PADDED)
    return None


def ulysses_slice_inputs(
    embeddings: torch.Tensor, position_ids: torch.Tensor | None, attention_mask: Any
) -> tuple[torch.Tensor | None, torch.Tensor | None, Any]:
    """Return this rank's slices of a text model's embeddings and positions, and its mask; the same with no group.

    Args:
        embeddings: (batch, length, hidden).
        position_ids: (…, length); required with a group registered.
        attention_mask: None, or of ones, (batch, length); without a group whatever upstream takes.

    Raises:
        NotImplementedError: with a group registered, if there is padding.
        ValueError: with a group registered, if there are no positions, or the ranks cannot share the length.
    """
    attention_mask = ulysses_unpadded(attention_mask, sliced=False)
    return ulysses_slice(embeddings, 1), ulysses_slice_positions(position_ids), attention_mask


def _refuse_unexchanged(implementation: Any) -> None:
    # Both import, in the end, what asks here.
    from ..modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415
    from .flash_attention import flash_attention_forward  # noqa: PLC0415

    # Frameworks put functions around those of transformers' own names; kernels from the Hub are partial ones.
    attention = ALL_ATTENTION_FUNCTIONS.get(implementation)
    if str(implementation).startswith("flash_attention_") or (
        getattr(attention, "func", attention) is flash_attention_forward
    ):
        return
    raise NotImplementedError(
        f"Ulysses sequence parallelism exchanges slices in FlashAttention only; with {implementation!r} each rank "
        "would attend within its own slice: load the model with attn_implementation='flash_attention_2', or split no "
        "sequences"
    )
