"""Vision towers that run for every batch if a training framework enables it, since some ranks may have no image."""

from transformers.integrations.vision_towers import lookup_device, with_hidden_states, with_vision_tower

from npu_overlays.markers import edited


@edited(
    (
        "inputs_embeds = self.get_input_embeddings()(input_ids)",
        (
            "inputs_embeds = with_vision_tower(\n"
            "    self, self.get_input_embeddings()(input_ids), pixel_values, pixel_values_videos\n"
            ")"
        ),
    ),
    targets=[
        "src/transformers/models/glm4v/modeling_glm4v.py:Glm4vModel.forward",
        "src/transformers/models/qwen2_5_vl/modeling_qwen2_5_vl.py:Qwen2_5_VLModel.forward",
        "src/transformers/models/qwen2_vl/modeling_qwen2_vl.py:Qwen2VLModel.forward",
    ],
    uses=[with_vision_tower],
    why="If a training framework enables it, ranks without an image run the vision tower too, because all ranks "
    "gather its weights together; otherwise nothing changes.",
)
def run_tower(): ...


@edited(
    (
        "inputs_embeds = self.get_input_embeddings()(input_ids)",
        (
            "inputs_embeds = with_vision_tower(\n"
            "    self, self.get_input_embeddings()(input_ids), pixel_values, pixel_values_videos\n"
            ")"
        ),
    ),
    targets=[
        "src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLModel.forward",
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeModel.forward",
    ],
    uses=[with_vision_tower],
    why="If a training framework enables it, ranks without an image run the vision tower too, because all ranks "
    "gather its weights together; otherwise nothing changes.",
    since="4.57",
)
def run_tower(): ...


@edited(
    (
        "inputs_embeds = self.get_input_embeddings()(input_ids)",
        (
            "inputs_embeds = with_vision_tower(\n"
            "    self, self.get_input_embeddings()(input_ids), pixel_values, pixel_values_videos\n"
            ")"
        ),
    ),
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5Model.forward",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeModel.forward",
    ],
    uses=[with_vision_tower],
    why="If a training framework enables it, ranks without an image run the vision tower too, because all ranks "
    "gather its weights together; otherwise nothing changes.",
    since="5",
)
def run_tower(): ...


@edited(
    (
        "return Qwen3VLCausalLMOutputWithPast(",
        "return with_hidden_states(outputs, Qwen3VLCausalLMOutputWithPast)(",
    ),
    targets=["src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLForConditionalGeneration.forward"],
    uses=[with_hidden_states],
    why="If a training framework makes vision towers always run, the last of the hidden states is normalized, as in "
    "every other model and in transformers 5. Value heads read it. Otherwise nothing changes.",
    since="4.57",
    until="5",
)
def end_with_norm(): ...


@edited(
    (
        "return Qwen3VLMoeCausalLMOutputWithPast(",
        "return with_hidden_states(outputs, Qwen3VLMoeCausalLMOutputWithPast)(",
    ),
    targets=[
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeForConditionalGeneration.forward"
    ],
    uses=[with_hidden_states],
    why="If a training framework makes vision towers always run, the last of the hidden states is normalized, as in "
    "every other model and in transformers 5. Value heads read it. Otherwise nothing changes.",
    since="4.57",
    until="5",
)
def end_with_norm(): ...


@edited(
    ("self.pos_embed.weight.device", "lookup_device(self.pos_embed.weight, grid_thw)", 2),
    targets=[
        "src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLVisionModel.fast_pos_embed_interpolate",
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeVisionModel.fast_pos_embed_interpolate",
    ],
    uses=[lookup_device],
    why="If the position embeddings are offloaded to the host, their indices are on the images' device; otherwise "
    "nothing changes.",
    since="4.57",
    until="5",
)
def look_up_on_image_device(): ...


@edited(
    ("device = self.pos_embed.weight.device", "device = lookup_device(self.pos_embed.weight, grid_thw)"),
    targets=[
        "src/transformers/models/qwen3_5/modeling_qwen3_5.py:Qwen3_5VisionModel.fast_pos_embed_interpolate",
        "src/transformers/models/qwen3_5_moe/modeling_qwen3_5_moe.py:Qwen3_5MoeVisionModel.fast_pos_embed_interpolate",
        "src/transformers/models/qwen3_vl/modeling_qwen3_vl.py:Qwen3VLVisionModel.fast_pos_embed_interpolate",
        "src/transformers/models/qwen3_vl_moe/modeling_qwen3_vl_moe.py:Qwen3VLMoeVisionModel.fast_pos_embed_interpolate",
    ],
    uses=[lookup_device],
    why="If the position embeddings are offloaded to the host, their indices are on the images' device; otherwise "
    "nothing changes.",
    since="5",
    until="5.10",
)
def look_up_on_image_device(): ...
