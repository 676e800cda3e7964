"""What tests of several checks use."""

from __future__ import annotations

from pathlib import Path

import pytest

from .gate import CheckedOverlay


@pytest.fixture
def gate(tmp_path: Path) -> CheckedOverlay:
    """Return what applies overlays, each in a folder of its own."""
    return CheckedOverlay(tmp_path)
