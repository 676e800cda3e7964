"""Models that read images: transformers-npu is told what verl needs of them, or they get verl's own functions.

Of batches that mix images and text vision towers run on every rank; and they
look positions up in weights that are kept on the host.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

# transformers-npu's module for vision towers.
_HOOK = "transformers.integrations.vision_towers"
# What has a language model's head around a model.
_HEAD = "ForConditionalGeneration"


def use_mixed_batches(model_class: type, forward: Callable[..., Any]) -> None:
    """Let a model run its vision tower whether a rank's share of a batch has images or not.

    Args:
        model_class: of transformers: a model, or one with a language model's head, that verl has a forward for.
        forward: verl's, for a transformers that is not told.
    """
    if _served(model_class):
        importlib.import_module(_HOOK).always_run_vision_towers()
    else:
        model_class.forward = forward


def use_position_lookup(tower_class: Any, lookup: Callable[..., Any]) -> None:
    """Let a vision tower look positions up in weights that are kept on the host until they are used.

    Args:
        tower_class: of transformers, that verl has such a function for.
        lookup: verl's, for a transformers that does not do that.
    """
    if not _knows("SERVED_TOWERS", tower_class.__name__):
        tower_class.fast_pos_embed_interpolate = lookup


def _served(model_class: type) -> bool:
    """Return whether the installed transformers can be told, and knows this model or the one below this head."""
    # What stands for a model that an old transformers does not have is no class.
    return _knows("SERVED_MODELS", getattr(model_class, "__name__", "").replace(_HEAD, "Model"))


def _knows(served: str, name: str) -> bool:
    return importlib.util.find_spec(_HOOK) is not None and name in getattr(importlib.import_module(_HOOK), served)
