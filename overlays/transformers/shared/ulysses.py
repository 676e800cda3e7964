"""Ulysses sequence parallelism for vision-language models: slicing, once images have become embeddings."""

from transformers.integrations.packed_linear_attention import packed_lengths
from transformers.integrations.ulysses import (
    split_text_positions,
    ulysses_slice,
    ulysses_slice_inputs,
    ulysses_slice_marked,
)

from npu_overlays.markers import edited, like


# Token ids come sliced already; embeddings with images in them can only be sliced where they are.
@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "if inputs_embeds is None:\n"
            "    inputs_embeds = self.embed_tokens(input_ids)\n"
            "else:\n"
            "    inputs_embeds, position_ids = ulysses_slice_inputs(inputs_embeds, position_ids)"
        ),
    ),
    targets=[
        like(
            "src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py:Qwen2_5_VLTextModel.forward",
            "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLTextModel.forward",
            within="src/transformers/models/qwen2*_vl/modeling_*.py",
        ),
        like(
            "src/transformers/models/glm4v/modeling_glm4v.py:Glm4vTextModel.forward",
            within="src/transformers/models/glm4v/modeling_*.py",
            since="5",
        ),
    ],
    uses=[ulysses_slice_inputs],
    why="With a Ulysses group registered each rank computes its slice of the sequence; otherwise unchanged.",
    drop_when="verl no longer needs patch_vlm_for_ulysses_input_slicing",
)
def compute_own_slice(): ...


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "if inputs_embeds is None:\n"
            "    inputs_embeds = self.embed_tokens(input_ids)\n"
            "else:\n"
            "    inputs_embeds, position_ids = ulysses_slice_inputs(inputs_embeds, position_ids)\n"
            "    if deepstack_visual_embeds is not None:\n"
            "        deepstack_visual_embeds = [\n"
            "            ulysses_slice_marked(one, visual_pos_masks) for one in deepstack_visual_embeds\n"
            "        ]\n"
            "    visual_pos_masks = ulysses_slice(visual_pos_masks, 1)"
        ),
    ),
    targets=[
        "src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLTextModel.forward",
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeTextModel.forward",
    ],
    uses=[ulysses_slice, ulysses_slice_inputs, ulysses_slice_marked],
    why="With a Ulysses group registered each rank computes its slice of the sequence and the images in it; "
    "otherwise unchanged.",
    drop_when="verl no longer needs patch_vlm_for_ulysses_input_slicing",
    since="4.57",
)
def compute_own_slice(): ...


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "lengths = packed_lengths(position_ids, attention_mask, sliced=inputs_embeds is None)\n"
            "if lengths is not None:\n"
            "    kwargs['packed_lengths'] = lengths\n"
            "if inputs_embeds is None:\n"
            "    inputs_embeds = self.embed_tokens(input_ids)\n"
            "else:\n"
            "    inputs_embeds, position_ids = ulysses_slice_inputs(inputs_embeds, position_ids)"
        ),
    ),
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5TextModel.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeTextModel.forward",
    ],
    uses=[packed_lengths, ulysses_slice_inputs],
    why="With a Ulysses group registered each rank computes its slice of the sequence; where a framework asks for it, "
    "linear attention is told where packed sequences begin; otherwise unchanged.",
    drop_when="verl no longer needs patch_vlm_for_ulysses_input_slicing",
    since="5",
)
def compute_own_slice(): ...


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "if inputs_embeds is None:\n"
            "    inputs_embeds = self.embed_tokens(input_ids)\n"
            "else:\n"
            "    inputs_embeds, position_ids = ulysses_slice_inputs(inputs_embeds, position_ids)\n"
            "text_position_ids, position_ids = split_text_positions(position_ids)"
        ),
    ),
    (
        "past_key_values=past_key_values, position_ids=position_ids,",
        (
            "past_key_values=past_key_values, "
            "position_ids=(position_ids if text_position_ids is None else text_position_ids),"
        ),
    ),
    (
        "cache_position=cache_position, **kwargs,",
        "cache_position=cache_position, text_position_ids=text_position_ids, **kwargs,",
    ),
    targets=["src/transformers/models/glm4v/modeling_glm4v.py:Glm4vTextModel.forward"],
    uses=[split_text_positions, ulysses_slice_inputs],
    why="With a Ulysses group registered each rank computes its slice of the sequence. A fourth row of positions, the "
    "text's, which upstream fails on, tells attention where packed sequences begin; otherwise unchanged.",
    until="5",
)
def attend_by_text_positions(): ...


@edited(
    ("scaling=self.scaling,", "scaling=self.scaling, position_ids=kwargs.pop('text_position_ids', None),"),
    targets=["src/transformers/models/glm4v/modeling_glm4v.py:Glm4vTextAttention.forward"],
    why="Flash attention is told where packed sequences begin, as it is from transformers 5 on, and Ulysses needs to "
    "know; without a row of positions for the text unchanged.",
    until="5",
)
def attend_by_text_positions(): ...
