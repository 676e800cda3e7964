"""Packing and unpacking of padded batches: on the CPU, by verl's own functions in plain torch."""

from verl.utils.device import get_device_name

from npu_overlays.markers import edited


@edited(
    (
        "if is_torch_npu_available(check_device=False):",
        'if is_torch_npu_available(check_device=False) or get_device_name() == "cpu":',
    ),
    uses=[get_device_name],
    why="Without a GPU there is no flash_attn, which upstream imports on the CPU. verl's functions for NPU are plain "
    "torch and run there.",
)
def _get_attention_functions(): ...
