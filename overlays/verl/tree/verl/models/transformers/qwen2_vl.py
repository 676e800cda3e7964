"""Qwen2-VL: attention over packed sequences on the NPU."""

from typing import TYPE_CHECKING

from verl.utils.device import is_npu_available

from npu_overlays.markers import added, edited

if TYPE_CHECKING:
    from verl.models.transformers.qwen2_vl import flash_attn_varlen_func


@added(
    why="Without flash_attn, upstream's variable-length attention is None. transformers has one for the NPU.",
    forwarded="https://github.com/volcengine/verl/commit/0d4541f397828843525b3f3a7eadff03d56ff24c",
    until="0.6.0",
)
def _varlen_attention():
    """Return the variable-length attention of this device."""
    if flash_attn_varlen_func is None and is_npu_available:
        from transformers.integrations.npu_flash_attention import npu_flash_attn_varlen_func  # noqa: PLC0415  # absent on other devices

        return npu_flash_attn_varlen_func
    return flash_attn_varlen_func


@edited(
    ("flash_attn_varlen_func(", "_varlen_attention()("),
    why="Packed multimodal sequences use the NPU's own attention; upstream fails on None.",
    forwarded="https://github.com/volcengine/verl/commit/0d4541f397828843525b3f3a7eadff03d56ff24c",
    until="0.6.0",
)
def flash_attention_forward(): ...
