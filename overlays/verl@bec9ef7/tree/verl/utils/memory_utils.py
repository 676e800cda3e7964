"""Device memory: the CPU has no cache to empty."""

import torch

from npu_overlays.markers import edited


@edited(
    ("if not device.is_available():", "if device is torch.cpu or not device.is_available():"),
    uses=[torch],
    why="On a CPU-only machine there is no reserved device memory; upstream queries it and fails.",
    drop_when="upstream does not ask the CPU for reserved memory",
)
def aggressive_empty_cache(): ...
