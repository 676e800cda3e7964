"""Attention: the implementation with which a model is loaded, and Ulysses sequence parallelism.

transformers-npu itself supports Ulysses sequence parallelism once verl has
registered the process group. Upstream's transformers is patched at run time, as
upstream's verl does.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

from verl.utils.device import get_device_name
from verl.utils.ulysses import get_ulysses_sequence_parallel_group

# transformers-npu's modules for sequence parallelism.
_HOOK = "transformers.integrations.ulysses"
_MODELS = "transformers.integrations.ulysses_models"
_NOT_EXCHANGED = (
    "ulysses_sequence_parallel_size={ranks} needs FlashAttention, and this model uses {attention!r}: each rank would "
    "attend only to its own slice of a sequence. Set attn_implementation to flash_attention_2 on a GPU or an NPU, and "
    "ulysses_sequence_parallel_size to 1 on a CPU, whose default is sdpa"
)


def attention_implementation(configured: str | None) -> str:
    """Return the attention implementation to load a model with.

    Args:
        configured: the user's choice. None selects torch's own attention on
            the CPU, and FlashAttention on other devices.
    """
    return configured or ("sdpa" if get_device_name() == "cpu" else "flash_attention_2")


def transformers_splits_sequences() -> bool:
    """Return whether the installed transformers itself supports Ulysses sequence parallelism."""
    return importlib.util.find_spec(_HOOK) is not None


def use_ulysses_attention(integration: ModuleType, ulysses_forward: Callable[..., Any], model: Any, ranks: int) -> None:
    """Let transformers' FlashAttention integration run under Ulysses sequence parallelism.

    Args:
        integration: ``transformers.integrations.flash_attention``.
        ulysses_forward: verl's sequence-parallel attention, for upstream's transformers.
        model: the model.
        ranks: the number of ranks that share a sequence.

    Raises:
        ValueError: several ranks share a sequence, and the model does not use FlashAttention; ranks exchange slices
            only there.
        NotImplementedError: several ranks share a sequence, and transformers-npu does not support that for the model.
    """
    attention = model.config.get_text_config()._attn_implementation
    if ranks > 1 and "flash" not in str(attention):
        raise ValueError(_NOT_EXCHANGED.format(ranks=ranks, attention=attention))
    if not transformers_splits_sequences():
        integration._flash_attention_forward = ulysses_forward
    elif ranks > 1:
        importlib.import_module(_MODELS).share_sequences(model, get_ulysses_sequence_parallel_group)
    else:
        importlib.import_module(_HOOK).register_ulysses_group(get_ulysses_sequence_parallel_group)


def use_multimodal_attention(attention_class: type, forward: Callable[..., Any]) -> None:
    """Patch a vision-language model's attention class with verl's forward, unless transformers' own does the same."""
    if not transformers_splits_sequences():
        attention_class.forward = forward


def is_sliced(model_class: type) -> bool:
    """Return whether a text model already slices its input for sequence parallelism."""
    if transformers_splits_sequences() and model_class.__name__ in importlib.import_module(_HOOK).SLICED_MODELS:
        return True
    return getattr(model_class.forward, "_slices_for_ulysses", False)


def mark_sliced(model_class: type) -> None:
    """Record that verl patched a text model to slice its input."""
    model_class.forward._slices_for_ulysses = True
