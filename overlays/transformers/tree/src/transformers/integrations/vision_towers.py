"""Vision towers that run on every rank, with images or without; a training framework switches this on.

If parameters are sharded, all ranks gather the parameters of each module
together, so they must run the same modules in the same order. In a batch that
mixes images and text, one rank may have no image. It would skip the vision
tower, and the other ranks would wait for it for ever. If this is switched on,
such a rank runs its tower on the smallest possible image. The result does not
depend on that image, and the tower's gradients are zero instead of missing.

A training framework switches it on once::

    from transformers.integrations.vision_towers import always_run_vision_towers
    always_run_vision_towers()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

_always = False

# The models whose vision towers run on every rank; frameworks do not patch them, nor the models with a head on top.
SERVED_MODELS = (
    "Qwen2VLModel",
    "Qwen2_5_VLModel",
    "Qwen3VLModel",
    "Qwen3VLMoeModel",
    "Qwen3_5Model",
    "Qwen3_5MoeModel",
    "Glm4vModel",
)

# The towers that look up positions on their input's device; frameworks do not patch them either.
SERVED_TOWERS = (
    "Qwen3VLVisionModel",
    "Qwen3VLMoeVisionModel",
    "Qwen3_5VisionModel",
    "Qwen3_5MoeVisionModel",
)


def always_run_vision_towers(*, always: bool = True) -> None:
    """Make models of :data:`SERVED_MODELS` run their vision tower in every forward, or only for images and videos."""
    global _always  # noqa: PLW0603  # one process, one way to train
    _always = always


def with_vision_tower(model: Any, embeddings: torch.Tensor, *pixels: torch.Tensor | None) -> torch.Tensor:
    """Return `embeddings`, after running the vision tower on a blank image if there are no pixels and it must run.

    Args:
        model: the model, with its tower as `visual`.
        embeddings: (batch, length, hidden), the embeddings of the tokens.
        pixels: the pixels of images and of videos; None if there are none.
    """
    if not _always or any(one is not None for one in pixels):
        return embeddings
    for features in _features(_run_on_blank_image(model.visual, embeddings.device)):
        embeddings = embeddings + 0.0 * features.mean().to(embeddings.device, embeddings.dtype)
    return embeddings


def lookup_device(weight: torch.Tensor, grid: torch.Tensor) -> torch.device:
    """Return the device of indices into a weight: the weight's, or the images' if the weight is on the host.

    A weight that is offloaded to the host is copied to the images' device just before use.
    """
    return grid.device if weight.device.type == "cpu" else weight.device


def with_hidden_states(outputs: Any, output_class: type) -> Callable[..., Any]:
    """Return a constructor of a head's output; if towers always run, the output has normalized hidden states.

    transformers 4.57 records hidden states around the head and appends the output's `last_hidden_state`. This output
    has none, so the last recorded state is not normalized, while a framework's value heads expect that it is. If the
    head's parameters are sharded, nothing is recorded at all.

    Args:
        outputs: the output of the model below the head.
        output_class: the class of the head's output; its fields are keyword arguments.
    """

    def make(**fields: Any) -> Any:
        if not _always:
            return output_class(**fields)
        output = output_class(hidden_states=outputs.hidden_states, **fields)
        # An attribute, not a field: only the code that records hidden states reads it.
        output.last_hidden_state = outputs.last_hidden_state
        return output

    return make


def _run_on_blank_image(tower: Any, device: torch.device) -> Any:
    """Return a tower's output for a black image of one token."""
    config = tower.config
    side = config.spatial_merge_size
    values = config.in_channels * config.temporal_patch_size * config.patch_size**2
    patches = torch.zeros(side * side, values, dtype=tower.dtype, device=device)
    return tower(patches, grid_thw=torch.tensor([[1, side, side]], device=device))


def _features(output: Any) -> Iterator[torch.Tensor]:
    """Yield the features that a tower passes to the language model; versions and models nest them differently."""
    if hasattr(output, "pooler_output"):
        output = (output.pooler_output, getattr(output, "deepstack_features", None))
    if isinstance(output, torch.Tensor):
        yield output
    elif output is not None:
        for one in output:
            yield from _features(one)
