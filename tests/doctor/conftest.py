"""A healthy machine for every test to make ill, and installations of the tiny patched wheels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.patched import InstalledSite, Patched, copy_site

from .machine import Machine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def site(patched: Patched, tmp_path: Path) -> InstalledSite:
    """Return a fresh installation."""
    return copy_site(patched, tmp_path / "site")
