"""Linear attention over packed sequences: transformers-npu keeps them apart, or verl patches the layers."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from inspect import signature
from typing import Any

# transformers-npu's module for linear attention.
_HOOK = "transformers.integrations.packed_linear_attention"
# The suffixes of a model with a language model's head, and of its layers.
_HEAD = "ForConditionalGeneration"
_LAYER = "DecoderLayer"


def use_separate_sequences(layer_class: Any, forward: Callable[..., Any]) -> None:
    """Let a layer start each packed sequence with an empty state.

    Args:
        layer_class: a class of transformers for which verl has a forward.
        forward: verl's forward, for a transformers that does not do this itself.
    """
    if not _separates(layer_class.__name__):
        layer_class.forward = forward


def separate_packed_sequences() -> None:
    """Switch on transformers-npu's separation of packed sequences, for all models; upstream's transformers has none."""
    if importlib.util.find_spec(_HOOK) is not None:
        importlib.import_module(_HOOK).separate_packed_sequences()


def takes_boundaries(model: Any) -> bool:
    """Return whether a model needs the boundaries of packed sequences: verl's forward passes them to its layers."""
    needed = "cu_seqlens" in signature(model.forward).parameters
    return needed and not _separates(type(model).__name__.replace(_HEAD, _LAYER))


def _separates(name: str) -> bool:
    """Return whether the installed transformers separates packed sequences in this layer."""
    return importlib.util.find_spec(_HOOK) is not None and name in importlib.import_module(_HOOK).SEPARATING_LAYERS
