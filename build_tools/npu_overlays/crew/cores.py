"""Cores: how many processes can work at once."""

from __future__ import annotations

import os


def cores() -> int:
    """Return how many cores are ours: of a container's, those it may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1
