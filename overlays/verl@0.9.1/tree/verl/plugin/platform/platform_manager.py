"""Platforms: a new one for machines without an accelerator."""

import torch
from verl.plugin.platform.platform_cpu import PlatformCPU

from npu_overlays.markers import added, edited


class PlatformRegistry:
    """The registered platforms."""

    _platforms = edited(
        ("= {}", '= {"cpu": PlatformCPU}'),
        uses=[PlatformCPU],
        why="VERL_PLATFORM=cpu trains on the CPU; upstream has no platform for it.",
    )


@added(
    why="Returns the platform of a machine without an accelerator: `nvidia` only if torch was built for GPUs.",
)
def _fallback():
    return "nvidia" if torch.backends.cuda.is_built() or torch.version.hip else "cpu"


@edited(
    (
        "\"No supported accelerator detected. Registered: %s. Falling back to 'nvidia'.\", names,",
        "\"No supported accelerator detected. Registered: %s. Falling back to '%s'.\", names, _fallback(),",
    ),
    ('return "nvidia"', "return _fallback()"),
    why="If there is no accelerator and torch was built for none, training runs on the CPU, as up to verl 0.8. "
    "Upstream assumes GPUs and fails at NCCL.",
)
def _detect_platform_name() -> str: ...
