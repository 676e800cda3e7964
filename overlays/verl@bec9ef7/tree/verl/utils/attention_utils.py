"""Packing and unpacking of padded batches: on a CPU by verl's own functions in plain torch."""

from verl.utils.device import get_device_name

from npu_overlays.markers import edited


@edited(
    (
        "if is_torch_npu_available(check_device=False):",
        'if is_torch_npu_available(check_device=False) or get_device_name() == "cpu":',
    ),
    uses=[get_device_name],
    why="A CPU-only machine has no flash_attn, which upstream imports there; verl's functions for NPU are plain torch.",
)
def _get_attention_functions(): ...
