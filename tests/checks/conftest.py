"""What tests of several checks use."""

from __future__ import annotations

from pathlib import Path

import pytest

from .gate import Gate


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Return what applies overlays, each in a folder of its own."""
    return Gate(tmp_path)
