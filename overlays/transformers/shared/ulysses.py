"""Ulysses sequence parallelism for vision-language models: each rank slices the embeddings, images included."""

from transformers.integrations.packed_linear_attention import packed_lengths
from transformers.integrations.ulysses import (
    split_text_positions,
    ulysses_inputs,
    ulysses_slice_images,
)

from npu_overlays.markers import edited, like


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        "inputs_embeds, position_ids = ulysses_inputs(self.embed_tokens, input_ids, inputs_embeds, position_ids)",
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
    uses=[ulysses_inputs],
    why="With a Ulysses group registered, each rank computes its slice of the sequence; otherwise nothing changes.",
    drop_when="verl no longer needs patch_vlm_for_ulysses_input_slicing",
)
def slice_inputs(): ...


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "if inputs_embeds is not None:\n"
            "    visual_pos_masks, deepstack_visual_embeds = ulysses_slice_images(\n"
            "        visual_pos_masks, deepstack_visual_embeds\n"
            "    )\n"
            "inputs_embeds, position_ids = ulysses_inputs(self.embed_tokens, input_ids, inputs_embeds, position_ids)"
        ),
    ),
    targets=[
        "src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLTextModel.forward",
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeTextModel.forward",
    ],
    uses=[ulysses_inputs, ulysses_slice_images],
    why="With a Ulysses group registered, each rank computes its slice of the sequence and the images in it; "
    "otherwise nothing changes.",
    drop_when="verl no longer needs patch_vlm_for_ulysses_input_slicing",
    since="4.57",
)
def slice_inputs(): ...


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "lengths = packed_lengths(position_ids, attention_mask, sliced=inputs_embeds is None)\n"
            "if lengths is not None:\n"
            "    kwargs['packed_lengths'] = lengths\n"
            "inputs_embeds, position_ids = ulysses_inputs(self.embed_tokens, input_ids, inputs_embeds, position_ids)"
        ),
    ),
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5TextModel.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeTextModel.forward",
    ],
    uses=[packed_lengths, ulysses_inputs],
    why="With a Ulysses group registered, each rank computes its slice of the sequence. If a training framework "
    "enables it, linear attention receives the lengths of packed sequences. Otherwise nothing changes.",
    drop_when="verl no longer needs patch_vlm_for_ulysses_input_slicing",
    since="5",
)
def slice_inputs(): ...


@edited(
    (
        "if inputs_embeds is None:\n    inputs_embeds = self.embed_tokens(input_ids)",
        (
            "inputs_embeds, position_ids = ulysses_inputs(self.embed_tokens, input_ids, inputs_embeds, position_ids)\n"
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
    uses=[split_text_positions, ulysses_inputs],
    why="With a Ulysses group registered, each rank computes its slice of the sequence. Positions may have a fourth "
    "row, the text's, on which upstream fails; it shows attention where packed sequences begin. Otherwise nothing "
    "changes.",
    until="5",
)
def attend_by_text_positions(): ...


@edited(
    ("scaling=self.scaling,", "scaling=self.scaling, position_ids=kwargs.pop('text_position_ids', None),"),
    targets=["src/transformers/models/glm4v/modeling_glm4v.py:Glm4vTextAttention.forward"],
    why="Flash attention receives the text's positions, as in transformers 5. They show where packed sequences begin, "
    "and Ulysses needs them. Without a row of positions for the text nothing changes.",
    until="5",
)
def attend_by_text_positions(): ...
