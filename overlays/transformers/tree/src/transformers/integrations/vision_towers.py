"""Vision towers that run on every rank, whether a batch has images or not; switched on by a training framework.

Where parameters are sharded, every rank must run the same modules in the same
order, as each of them is gathered by all ranks together. Of batches that mix
images and text, one rank's share may have no image at all: it would leave the
vision tower out, and the others would wait for it for ever. Switched on, such
a rank runs its tower on the smallest image there is, of which nothing reaches
the result; the tower's gradients are zero instead of missing.

A training framework switches it on once::

    from transformers.integrations.vision_towers import always_run_vision_towers
    always_run_vision_towers()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

_always = False

# The models whose vision towers run here; frameworks leave these, and the models with a head around them, alone.
SERVED_MODELS = (
    "Qwen2VLModel",
    "Qwen2_5_VLModel",
    "Qwen3VLModel",
    "Qwen3VLMoeModel",
    "Qwen3_5Model",
    "Qwen3_5MoeModel",
    "Glm4vModel",
)

# The towers that look positions up where their input is; frameworks leave these alone, too.
SERVED_TOWERS = (
    "Qwen3VLVisionModel",
    "Qwen3VLMoeVisionModel",
    "Qwen3_5VisionModel",
    "Qwen3_5MoeVisionModel",
)


def always_run_vision_towers(*, always: bool = True) -> None:
    """Have every model of :data:`SERVED_MODELS` run its vision tower in each forward, or only for images and videos."""
    global _always  # noqa: PLW0603  # one process, one way to train
    _always = always


def with_vision_tower(model: Any, embeddings: torch.Tensor, *pixels: torch.Tensor | None) -> torch.Tensor:
    """Return the embeddings of tokens; where there are no pixels, the vision tower has run as well, if it always is to.

    Args:
        model: has the tower as `visual`.
        embeddings: (batch, length, hidden), of the tokens alone.
        pixels: of images and of videos, None for none.
    """
    if not _always or any(one is not None for one in pixels):
        return embeddings
    for features in _features(_run_on_nothing(model.visual, embeddings.device)):
        embeddings = embeddings + 0.0 * features.mean().to(embeddings.device, embeddings.dtype)
    return embeddings


def lookup_device(weight: torch.Tensor, grid: torch.Tensor) -> torch.device:
    """Return where to look positions up in a weight: where it is, or, if that is the host, where the images are.

    What is kept on the host, to save the device's memory, comes to the images' device just before it is used.
    """
    return grid.device if weight.device.type == "cpu" else weight.device


def with_hidden_states(outputs: Any, output_class: type) -> Callable[..., Any]:
    """Return what makes a head's output; where towers always run, with hidden states as those of other heads are.

    In transformers 4.57 a head's are recorded around it, and end with the output's `last_hidden_state`. It has none, so
    that they lack the last norm, which value heads of a framework build on; and of a head whose parameters are sharded
    none are recorded.

    Args:
        outputs: of the model below the head.
        output_class: of the head's output, which takes its fields by name.
    """

    def make(**fields: Any) -> Any:
        if not _always:
            return output_class(**fields)
        output = output_class(hidden_states=outputs.hidden_states, **fields)
        # An attribute and no field: what records looks for it, and nothing else that reads the output sees it.
        output.last_hidden_state = outputs.last_hidden_state
        return output

    return make


def _run_on_nothing(tower: Any, device: torch.device) -> Any:
    """Return what a tower makes of a black image of one token."""
    config = tower.config
    side = config.spatial_merge_size
    values = config.in_channels * config.temporal_patch_size * config.patch_size**2
    patches = torch.zeros(side * side, values, dtype=tower.dtype, device=device)
    return tower(patches, grid_thw=torch.tensor([[1, side, side]], device=device))


def _features(output: Any) -> Iterator[torch.Tensor]:
    """Yield what a tower hands to the language model, whose shape depends on transformers and on the model."""
    if hasattr(output, "pooler_output"):
        output = (output.pooler_output, getattr(output, "deepstack_features", None))
    if isinstance(output, torch.Tensor):
        yield output
    elif output is not None:
        for one in output:
            yield from _features(one)
