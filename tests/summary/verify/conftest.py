"""Installations of the tiny patched wheels, each test with its own copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.patched import InstalledSite, Patched, copy_site


@pytest.fixture
def site(patched: Patched, tmp_path: Path) -> InstalledSite:
    """Return a fresh installation."""
    return copy_site(patched, tmp_path / "site", doctor=False)
