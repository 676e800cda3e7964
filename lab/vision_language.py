"""Vision-language models: tiny random ones with their heads, and batches with images, videos and text for them."""

from __future__ import annotations

from copy import deepcopy
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch.nn.utils.rnn import pad_sequence

HIDDEN, VOCABULARY = 32, 67
IMAGE, VIDEO, START, END = 60, 61, 62, 63
# Packed into one row: where sequences begin, attention must know.
LENGTHS = (11, 9, 12)
_TOKENS = {
    "image_token_id": IMAGE,
    "video_token_id": VIDEO,
    "vision_start_token_id": START,
    "vision_end_token_id": END,
}
_TEXT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 44,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
}
_MROPE: dict[str, Any] = {"rope_scaling": {"type": "mrope", "mrope_section": [1, 1, 2]}}
_SECTIONED: dict[str, Any] = {"rope_scaling": {"rope_type": "default", "mrope_section": [1, 1, 2]}}
_INTERLEAVED: dict[str, Any] = {"head_dim": 8, "rope_scaling": {"rope_type": "default", "mrope_section": [2, 1, 1]}}
_EXPERTS: dict[str, Any] = {
    "moe_intermediate_size": 24,
    "num_experts": 4,
    "num_experts_per_tok": 4,
    "mlp_only_layers": [0],
}
# One layer of linear attention, one of the other; every expert is asked.
_HYBRID: dict[str, Any] = {
    "head_dim": 32,
    "layer_types": ["linear_attention", "full_attention"],
    "linear_conv_kernel_dim": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "partial_rotary_factor": 0.25,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]},
}
_SHARED: dict[str, Any] = {
    **{name: value for name, value in _EXPERTS.items() if name != "mlp_only_layers"},
    "shared_expert_intermediate_size": 24,
}
# No two sizes of a patch are the same: three channels, one frame, four by four, two by two of which become a token.
_VISION: dict[str, Any] = {"depth": 2, "num_heads": 2, "in_channels": 3, "temporal_patch_size": 1, "patch_size": 4}
VALUES = 3 * 1 * 4 * 4
_MERGED: dict[str, Any] = {"hidden_size": 16, "out_hidden_size": HIDDEN, "intermediate_size": 20}
_POSITIONED: dict[str, Any] = {**_MERGED, "num_position_embeddings": 16}
_DEEPSTACK: dict[str, Any] = {**_POSITIONED, "deepstack_visual_indexes": [0, 1]}
# By package: what classes begin with, and what text models and vision towers are made with.
FAMILIES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "qwen2_vl": ("Qwen2VL", _MROPE, {"embed_dim": 16, "hidden_size": HIDDEN}),
    "qwen2_5_vl": ("Qwen2_5_VL", _MROPE, {**_MERGED, "window_size": 16, "fullatt_block_indexes": [1]}),
    "qwen3_vl": ("Qwen3VL", _INTERLEAVED, _DEEPSTACK),
    "qwen3_vl_moe": ("Qwen3VLMoe", {**_INTERLEAVED, **_EXPERTS}, _DEEPSTACK),
    "qwen3_5": ("Qwen3_5", _HYBRID, _POSITIONED),
    "qwen3_5_moe": ("Qwen3_5Moe", {**_HYBRID, **_SHARED}, _POSITIONED),
    "glm4v": ("Glm4v", _SECTIONED, {**_MERGED, "image_size": 16}),
}


def families() -> list[str]:
    """Return those of `FAMILIES` that the transformers in reach has."""
    return [name for name in FAMILIES if find_spec(f"transformers.models.{name}")]


def classes(family: str) -> tuple[type, type]:
    """Return a family's classes: of models, and of those with a head."""
    package = import_module(f"transformers.models.{family}.modeling_{family}")
    prefix = FAMILIES[family][0]
    return getattr(package, f"{prefix}Model"), getattr(package, f"{prefix}ForConditionalGeneration")


def model_of(family: str, attention: str = "sdpa") -> Any:
    """Return a tiny random model with its head; norms and biases are not at their starting values."""
    package = import_module(f"transformers.models.{family}.configuration_{family}")
    # Configurations change what they are made with.
    prefix, text, vision = deepcopy(FAMILIES[family])
    config = getattr(package, f"{prefix}Config")(
        text_config={**_TEXT, **text}, vision_config={**_VISION, **vision}, **_TOKENS, attn_implementation=attention
    )
    torch.manual_seed(7)
    model: Any = classes(family)[1](config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.4 if parameter.dim() == 1 else 0.0, std=0.2)
    return model.train()


def batch(kind: str) -> dict[str, Any]:
    """Return a batch as verl hands it over: packed into one row, with four rows of positions.

    Args:
        kind: ``text``; ``images`` in every sequence; ``mixed``, of which one has an image; ``videos``; or ``both``.
    """
    generator = torch.Generator().manual_seed(11)
    ids = torch.randint(1, IMAGE, (1, sum(LENGTHS)), generator=generator)
    positions = torch.cat([torch.arange(length) for length in LENGTHS]).view(1, 1, -1).repeat(4, 1, 1)
    found: dict[str, Any] = {"attention_mask": None, "use_cache": False}
    places = {"text": [], "images": [1, 12, 23], "mixed": [12], "videos": [12], "both": [1, 12]}[kind]
    for number, place in enumerate(places):
        token = VIDEO if kind == "videos" or (kind == "both" and number) else IMAGE
        # Two tokens an image, four a video of two frames, between a start and an end.
        count = 4 if token == VIDEO else 2
        ids[0, place : place + count + 2] = torch.tensor([START, *[token] * count, END])
        # Rows of time, height and width differ where an image is.
        positions[1:, 0, place + 1 : place + 1 + count] += torch.arange(3).view(3, 1)
    images, videos = (int((ids == IMAGE).sum()) // 2, int((ids == VIDEO).sum()) // 4)
    if images:
        found["pixel_values"] = torch.randn(8 * images, VALUES, generator=generator)
        found["image_grid_thw"] = torch.tensor([[1, 2, 4]] * images)
    if videos:
        found["pixel_values_videos"] = torch.randn(16 * videos, VALUES, generator=generator)
        found["video_grid_thw"] = torch.tensor([[2, 2, 4]] * videos)
    return {"input_ids": ids, "position_ids": positions, **found}


def padded(kind: str) -> dict[str, Any]:
    """Return the same, each sequence in a row of its own, padded on the right."""
    packed = batch(kind)
    ids, positions = (
        pad_sequence([part.movedim(-1, 0) for part in packed[name].split(LENGTHS, -1)], batch_first=True)
        for name in ("input_ids", "position_ids")
    )
    mask = torch.tensor([[1] * length + [0] * (max(LENGTHS) - length) for length in LENGTHS])
    rows = {"input_ids": ids[..., 0], "position_ids": positions[..., 0].permute(2, 0, 1).contiguous()}
    return {**packed, **rows, "attention_mask": mask}


def trained(model: Any, inputs: dict[str, Any]) -> dict[str, torch.Tensor | None]:
    """Return logits, the last hidden states and the gradients of all parameters, None where there is none."""
    output = model(**inputs, output_hidden_states=True)
    weight = torch.randn(output.logits.shape, generator=torch.Generator().manual_seed(5))
    (output.logits.float() * weight).mean().backward()
    gradients = {f"grad {name}": parameter.grad for name, parameter in model.named_parameters()}
    return {"logits": output.logits.detach(), "hidden": output.hidden_states[-1].detach(), **gradients}
