"""Models under Ulysses sequence parallelism: models and inputs that ranks cannot share are refused before they run.

A training framework calls this once for each model whose sequences ranks share::

    from transformers.integrations.ulysses_models import share_sequences
    share_sequences(model, get_my_sequence_parallel_group)

The model and the models inside it are checked at once, and again at every call with a group of several ranks: their
configuration may have changed, and only then are the inputs known. Every rank refuses, so that none waits for another.
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
# These layers connect positions only by attention, which ranks exchange.
_SHARED_LAYERS = ("attention", "full_attention", "sliding_attention")
# Text models whose linear attention ranks share too, by heads.
_SHARED_MODELS = ("qwen3_5_text", "qwen3_5_moe_text")
_PADDED = (
    "Ulysses sequence parallelism does not support padding: the attention mask must be None, or (batch, length) of "
    "ones. Pack sequences into one row, with position_ids that restart at 0 at each sequence."
)
_OWN_ATTENTION = (
    "Ulysses sequence parallelism exchanges slices in transformers' shared attention functions. {model} does not "
    "declare that it uses them (_supports_attention_backend), so each rank might attend only to its own slice. Do not "
    "split sequences."
)
# Heads whose result depends on a whole sequence.
_SEQUENCE_HEADS = (
    "ForSequenceClassification",
    "ForQuestionAnswering",
    "ForMultipleChoice",
    "ForNextSentencePrediction",
)
# Rotary embeddings whose frequencies depend on a sequence's length.
_LENGTH_DEPENDENT_ROPE = ("dynamic", "longrope")
# Frameworks may register wrappers under transformers' own names.
_OWN_NAMES = ("flash_attention_2", "flash_attention_3", "flash_attention_4")
_HEAD = (
    "Ulysses sequence parallelism does not support a head that needs whole sequences, as {model} has: each rank would "
    "apply it to its own slice. Do not split sequences, or classify tokens instead."
)
_ROPE = (
    "Ulysses sequence parallelism does not support rotary embeddings that depend on a sequence's length ({kind}), as "
    "{model} has: each rank would use the length of its own slice. Do not split sequences."
)
_LABELS = (
    "Ulysses sequence parallelism does not support labels alone: the label after a slice's last token is on another "
    "rank. Compute the loss from the logits, or also pass shift_labels, this rank's slice of the shifted labels."
)
_OTHER_LAYERS = (
    "Ulysses sequence parallelism exchanges attention only. {model} has layers that carry another state along a "
    "sequence ({layers}) and would restart in each rank's slice. Do not split sequences."
)


def share_sequences(model: nn.Module, getter: GroupGetter) -> None:
    """Let ranks share the sequences of a model's inputs.

    Args:
        model: a model of transformers, or a framework's model around one. Its vision towers are not checked, because
            their input is not sliced.
        getter: returns the process group of the ranks, or None. The getter of the last call applies to all models of
            this process. It must return the same group in a forward and its backward, which may recompute layers.

    Raises:
        NotImplementedError: ranks cannot share the model, whatever its inputs.
    """
    text_models = [one for one in model.modules() if isinstance(one, PreTrainedModel) and reads_text(one.config)]
    for one in text_models:
        _refuse_unshared(one)
    for one in text_models:
        if ulysses_arguments not in one._forward_pre_hooks.values():
            one.register_forward_pre_hook(ulysses_arguments, with_kwargs=True)
    register_ulysses_group(getter)


def ulysses_arguments(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a text model's forward: unchanged without a group, else without attention mask.

    Args:
        model: a model of transformers.
        args: its positional arguments.
        kwargs: its keyword arguments.

    Raises:
        NotImplementedError: there is a group, and ranks cannot share the model, or there are labels, or a rank has
            padding; then every rank has a mask.
        ValueError: there is a group but no positions, so each rank would count from 0.
    """
    if ulysses_group() is None:
        return args, kwargs
    _refuse_unshared(model)
    # Frameworks may wrap a model's own forward in a function of (*args, **kwargs).
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
    if any(one.__name__.endswith(_SEQUENCE_HEADS) for one in type(model).__mro__):
        raise NotImplementedError(_HEAD.format(model=name))
    for kind in _rope_kinds(config):
        if kind in _LENGTH_DEPENDENT_ROPE:
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
    """Return the kinds of rotary embeddings that a configuration names; some models have one per kind of layer."""
    known = [getattr(config, name, None) or {} for name in ("rope_scaling", "rope_parameters")]
    every = [one for each in known for one in (each, *each.values()) if isinstance(one, dict)]
    return [one.get("rope_type", one.get("type")) for one in every]


def _is_empty(attention_mask: Any) -> bool:
    """Return whether there is no mask; inner models may receive a dict with one for each kind of layer."""
    masks = attention_mask.values() if isinstance(attention_mask, dict) else (attention_mask,)
    return all(one is None for one in masks)


def _refuse_padding(attention_mask: Any) -> None:
    """Raise NotImplementedError on every rank if any rank's mask is not (batch, length) or not all ones."""
    if not isinstance(attention_mask, torch.Tensor) or attention_mask.dim() != _DIMENSIONS:
        raise NotImplementedError(_PADDED)
    padded = (attention_mask != 1).any().to(torch.int32)
    # Each rank sees only its slice's mask; if one rank stopped alone, the others would wait for it in attention.
    dist.all_reduce(padded, op=dist.ReduceOp.MAX, group=ulysses_group())
    if padded:
        raise NotImplementedError(_PADDED)


def _refuse_unexchanged(implementation: Any) -> None:
    # Kernels from the Hub are registered as partial functions.
    attention = ALL_ATTENTION_FUNCTIONS.get(implementation)
    if implementation in _OWN_NAMES or getattr(attention, "func", attention) is flash_attention_forward:
        return
    raise NotImplementedError(
        f"Ulysses sequence parallelism exchanges slices in FlashAttention only; with {implementation!r} each rank "
        "would attend only to its own slice: load the model with attn_implementation='flash_attention_2', or do not "
        "split sequences"
    )
