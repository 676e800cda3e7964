"""Linear attention: transformers-npu is told to separate packed sequences, or layers get verl's own functions."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from inspect import signature
from typing import Any

# transformers-npu's module for it.
_HOOK = "transformers.integrations.packed_linear_attention"
# What has a language model's head around a model of layers.
_HEAD = "ForConditionalGeneration"
_LAYER = "DecoderLayer"


def use_separate_sequences(layer_class: Any, forward: Callable[..., Any]) -> None:
    """Let a layer begin every packed sequence without a state, which transformers may do by itself.

    Args:
        layer_class: of transformers, that verl has a forward for.
        forward: verl's, for a transformers that is not told.
    """
    if not _separates(layer_class.__name__):
        layer_class.forward = forward


def separate_packed_sequences() -> None:
    """Tell the installed transformers, where it can be told, that rows hold several sequences, whatever the model."""
    if importlib.util.find_spec(_HOOK) is not None:
        importlib.import_module(_HOOK).separate_packed_sequences()


def takes_boundaries(model: Any) -> bool:
    """Return whether a model is to be told where packed sequences begin: its forward knows that, its layers not."""
    needed = "cu_seqlens" in signature(model.forward).parameters
    return needed and not _separates(type(model).__name__.replace(_HEAD, _LAYER))


def _separates(name: str) -> bool:
    """Return whether the installed transformers can be told, and knows this layer."""
    return importlib.util.find_spec(_HOOK) is not None and name in importlib.import_module(_HOOK).SEPARATING_LAYERS
