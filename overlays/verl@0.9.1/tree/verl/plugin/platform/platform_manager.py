"""Platforms: one for machines without an accelerator."""

import torch
from verl.plugin.platform.platform_cpu import PlatformCPU

from npu_overlays.markers import added, edited


class PlatformRegistry:
    """The platforms that there are."""

    _platforms = edited(
        ("= {}", '= {"cpu": PlatformCPU}'),
        uses=[PlatformCPU],
        why="VERL_PLATFORM=cpu trains on the CPU; upstream knows no platform for it.",
    )


@added(
    why="Says what a machine is on which no accelerator is found: one with GPUs only where torch was built for them."
)
def _fallback():
    return "nvidia" if torch.backends.cuda.is_built() or torch.version.hip else "cpu"


@edited(
    (
        "\"No supported accelerator detected. Registered: %s. Falling back to 'nvidia'.\", names,",
        "\"No supported accelerator detected. Registered: %s. Falling back to '%s'.\", names, _fallback(),",
    ),
    ('return "nvidia"', "return _fallback()"),
    why="Where no accelerator is found, and torch was built for none, training runs on the CPU by itself, as up to "
    "verl 0.8; upstream takes it for a machine with GPUs, and stops at NCCL.",
)
def _detect_platform_name() -> str: ...
