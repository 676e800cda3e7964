"""Fixtures: environments with torch 2.13 in which the patched transformers runs on the emulated NPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments import Installations, Torch, Unavailable, torch_environment

# They need torch and the patched transformers, so they run in a separate environment.
collect_ignore = ["cases"]


@pytest.fixture(scope="session")
def torch_python() -> Torch:
    """Return an environment with torch 2.13, or skip: only that version can host a device written in Python."""
    try:
        return torch_environment()
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def installations(shared: Path) -> Installations:
    """Return the folder in which overlays are built and installed, each once a run."""
    return Installations(shared / "npu")
