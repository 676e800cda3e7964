"""Models and Ulysses sequence parallelism: what ranks could not share is refused, on all of them, before it runs.

A training framework says once of each model that its ranks share sequences::

    from transformers.integrations.ulysses_models import share_sequences
    share_sequences(model, get_my_sequence_parallel_group)

The model is asked then, and again whenever it is called with a group of several ranks: its configuration may be
another one by then, and what it is called with is known only then. Models inside it are asked as well.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from ..modeling_utils import ALL_ATTENTION_FUNCTIONS, PreTrainedModel
from .flash_attention import flash_attention_forward
from .ulysses import POSITIONS_MISSING, GroupGetter, reads_text, register_ulysses_group, ulysses_group

# (batch, length)
_DIMENSIONS = 2
# All that such layers carry along a sequence is attention, which ranks exchange.
_SHARED_LAYERS = ("attention", "full_attention", "sliding_attention")
# Text models of which ranks share the heads of linear attention as well.
_SHARED_MODELS = ("qwen3_5_text", "qwen3_5_moe_text")
_PADDED = (
    "Ulysses sequence parallelism takes no padding and no attention mask but one of ones: pack sequences into one row, "
    "with position_ids that begin at 0 where each of them begins."
)
_OWN_ATTENTION = (
    "Ulysses sequence parallelism exchanges slices where a model attends by what is registered for all models; {model} "
    "does not say that it does (_supports_attention_backend), and each rank might attend within its own slice: split "
    "no sequences."
)
# Heads that look along a whole sequence, or for a place in it.
_LOOKING_HEADS = ("ForSequenceClassification", "ForQuestionAnswering", "ForMultipleChoice", "ForNextSentencePrediction")
# Frequencies that depend on how long a sequence is, of which each rank would see its slice.
_MEASURING = ("dynamic", "longrope")
# Frameworks put functions around those of transformers' own names.
_OWN_NAMES = ("flash_attention_2", "flash_attention_3", "flash_attention_4")
_HEAD = (
    "Ulysses sequence parallelism shares no head that looks along a sequence, as {model}'s does: each rank would look "
    "at its slice. Split no sequences, or classify tokens."
)
_ROPE = (
    "Ulysses sequence parallelism shares no rotary embeddings that depend on a sequence's length ({kind}), as {model} "
    "has them: each rank would measure its slice. Split no sequences."
)
_LABELS = (
    "Ulysses sequence parallelism takes no labels: a slice's last token is followed by one that another rank has. "
    "Compute the loss from the logits, or give shift_labels, the slice of labels moved by one, as well."
)
_OTHER_LAYERS = (
    "Ulysses sequence parallelism shares attention only; {model} has layers that carry something else along a "
    "sequence ({layers}) and would begin anew in each rank's slice: split no sequences."
)


def share_sequences(model: nn.Module, getter: GroupGetter) -> None:
    """Let ranks share the sequences that a model is called with.

    Args:
        model: of transformers', or a framework's around one. Vision towers in it, which no one slices, are not asked.
        getter: returns the process group of the ranks, or None; for all models of this process the last one counts, and
            what it returns in a forward it has to return in the backward, where layers may be run once more.

    Raises:
        NotImplementedError: if ranks could not share what the model computes, whatever it is called with.
    """
    asked = [one for one in model.modules() if isinstance(one, PreTrainedModel) and reads_text(one.config)]
    for one in asked:
        _refuse_unshared(one)
    for one in asked:
        if ulysses_arguments not in one._forward_pre_hooks.values():
            one.register_forward_pre_hook(ulysses_arguments, with_kwargs=True)
    register_ulysses_group(getter)


def ulysses_arguments(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return what a model that reads text is called with: as it is with no group of ranks, else unmasked.

    Args:
        model: of transformers'.
        args: what it is called with by position.
        kwargs: what it is called with by name.

    Raises:
        NotImplementedError: with a group, if ranks could not share what the model computes, if there are labels, or if
            there is padding on any rank, each of which has a mask then.
        ValueError: with a group, if there are no positions: each rank would count its slice from 0.
    """
    if ulysses_group() is None:
        return args, kwargs
    _refuse_unshared(model)
    # Frameworks put functions around a model's own, which take anything.
    names = [*inspect.signature(type(model).forward).parameters][1 : len(args) + 1]
    given = {**dict(zip(names, args, strict=True)), **kwargs}
    if given.get("position_ids") is None:
        raise ValueError(POSITIONS_MISSING)
    if given.get("labels") is not None and given.get("shift_labels") is None:
        raise NotImplementedError(_LABELS)
    if not _is_empty(given.get("attention_mask")):
        _refuse_padding(given["attention_mask"])
        given["attention_mask"] = None
    return tuple(given[name] for name in names), {name: given[name] for name in kwargs}


def _refuse_unshared(model: Any) -> None:
    config = model.config.get_text_config()
    name = type(model).__name__
    _refuse_unexchanged(config._attn_implementation)
    if any(one.__name__.endswith(_LOOKING_HEADS) for one in type(model).__mro__):
        raise NotImplementedError(_HEAD.format(model=name))
    for kind in _rope_kinds(config):
        if kind in _MEASURING:
            raise NotImplementedError(_ROPE.format(model=name, kind=kind))
    if config.model_type in _SHARED_MODELS:
        return
    kinds = {*(getattr(config, "layer_types", None) or ()), *(getattr(config, "layers_block_type", None) or ())}
    others = sorted(kinds.difference(_SHARED_LAYERS)) or ["a state"] * model._is_stateful
    if others:
        raise NotImplementedError(_OTHER_LAYERS.format(model=name, layers=", ".join(others)))
    if not model._supports_attention_backend:
        raise NotImplementedError(_OWN_ATTENTION.format(model=name))


def _rope_kinds(config: Any) -> list[Any]:
    """Return the kinds of rotary embeddings that a configuration names, of some models one for each kind of layer."""
    known = [getattr(config, name, None) or {} for name in ("rope_scaling", "rope_parameters")]
    every = [one for each in known for one in (each, *each.values()) if isinstance(one, dict)]
    return [one.get("rope_type", one.get("type")) for one in every]


def _is_empty(attention_mask: Any) -> bool:
    """Return whether there is no mask; models hand one for each kind of layer to those inside them."""
    masks = attention_mask.values() if isinstance(attention_mask, dict) else (attention_mask,)
    return all(one is None for one in masks)


def _refuse_padding(attention_mask: Any) -> None:
    """Raise NotImplementedError on every rank, if the mask of any has another element than 1, or is no such mask."""
    if not isinstance(attention_mask, torch.Tensor) or attention_mask.dim() != _DIMENSIONS:
        raise NotImplementedError(_PADDED)
    padded = (attention_mask != 1).any().to(torch.int32)
    # Each rank may have a mask of its slice; where one rank alone stopped, the others would wait for it in attention.
    dist.all_reduce(padded, op=dist.ReduceOp.MAX, group=ulysses_group())
    if padded:
        raise NotImplementedError(_PADDED)


def _refuse_unexchanged(implementation: Any) -> None:
    # Kernels from the Hub are partial functions.
    attention = ALL_ATTENTION_FUNCTIONS.get(implementation)
    if implementation in _OWN_NAMES or getattr(attention, "func", attention) is flash_attention_forward:
        return
    raise NotImplementedError(
        f"Ulysses sequence parallelism exchanges slices in FlashAttention only; with {implementation!r} each rank "
        "would attend within its own slice: load the model with attn_implementation='flash_attention_2', or split no "
        "sequences"
    )
