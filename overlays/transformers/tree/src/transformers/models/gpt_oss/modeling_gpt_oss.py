"""Changes to gpt-oss: its attention, which has sinks, by the NPU's operator."""

from npu_overlays.markers import edited

from ...integrations.npu_flash_attention import with_npu_attention


@edited(
    (
        "_compatible_flash_implementations = [",
        "_compatible_flash_implementations = with_npu_attention([",
    ),
    ('"flash_attention_4"]', '"flash_attention_4"])'),
    uses=[with_npu_attention],
    why="On NPU flash_attention_2 is the device's own attention, which takes sinks; upstream falls back to kernels for "
    "GPUs. Elsewhere unchanged.",
    since="5",
    until="5.15",
)
class GptOssPreTrainedModel: ...


@edited(
    (
        "_compatible_flash_implementations = [",
        "_compatible_flash_implementations = [*with_npu_attention([]),",
    ),
    uses=[with_npu_attention],
    why="On NPU flash_attention_2 is the device's own attention, which takes sinks; upstream falls back to kernels for "
    "GPUs. Elsewhere unchanged.",
    since="5.15",
)
class GptOssPreTrainedModel: ...
