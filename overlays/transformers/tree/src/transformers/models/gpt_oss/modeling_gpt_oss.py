"""Changes to gpt-oss: NPU operators for its attention, which has sinks, and for its rotary embedding."""

import torch

from npu_overlays.markers import edited, upstream, wrapped

from ...integrations.npu_flash_attention import with_npu_attention
from ...integrations.npu_kernels import can_use_rotary, npu_rotary, on_npu


@wrapped(why="On NPU, one fused operator replaces seven; elsewhere upstream's code runs.")
def _apply_rotary_emb(x, cos, sin):
    if on_npu(x):
        tables = (torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1))
        if can_use_rotary(x, *tables):
            return npu_rotary(x, *tables)
    return upstream(x, cos, sin)


@edited(
    (
        "_compatible_flash_implementations = [",
        "_compatible_flash_implementations = with_npu_attention([",
    ),
    ('"flash_attention_4"]', '"flash_attention_4"])'),
    uses=[with_npu_attention],
    why="On NPU, flash_attention_2 selects the device's own attention, which supports sinks; upstream falls back to "
    "GPU kernels. Elsewhere nothing changes.",
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
    why="On NPU, flash_attention_2 selects the device's own attention, which supports sinks; upstream falls back to "
    "GPU kernels. Elsewhere nothing changes.",
    since="5.15",
)
class GptOssPreTrainedModel: ...
