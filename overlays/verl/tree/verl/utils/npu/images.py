"""Models that read images: transformers-npu handles batches that mix images and text, or verl patches the models.

In such batches, vision towers run on every rank, with images or without. They
also look up positions in weights that are offloaded to the host.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

# transformers-npu's module for vision towers.
_HOOK = "transformers.integrations.vision_towers"
# The suffix of a model with a language model's head.
_HEAD = "ForConditionalGeneration"


def use_mixed_batches(model_class: type, forward: Callable[..., Any]) -> None:
    """Let a model run its vision tower on every rank, with images or without.

    Args:
        model_class: a class of transformers, with or without a language model's head, for which verl has a forward.
        forward: verl's forward, for a transformers that does not do this itself.
    """
    if _served(model_class):
        importlib.import_module(_HOOK).always_run_vision_towers()
    else:
        model_class.forward = forward


def use_position_lookup(tower_class: Any, lookup: Callable[..., Any]) -> None:
    """Let a vision tower look up positions in weights that are offloaded to the host.

    Args:
        tower_class: a class of transformers for which verl has such a function.
        lookup: verl's function, for a transformers that does not do this itself.
    """
    if not _knows("SERVED_TOWERS", tower_class.__name__):
        tower_class.fast_pos_embed_interpolate = lookup


def _served(model_class: type) -> bool:
    """Return whether the installed transformers handles this model, or the model below this head, itself."""
    # For models that an old transformers lacks, verl has a placeholder that is not a class.
    return _knows("SERVED_MODELS", getattr(model_class, "__name__", "").replace(_HEAD, "Model"))


def _knows(served: str, name: str) -> bool:
    return importlib.util.find_spec(_HOOK) is not None and name in getattr(importlib.import_module(_HOOK), served)
