"""The sample, locked and built once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.once import once

from .sample import Sample, make_sample, open_sample


@pytest.fixture(scope="session")
def locked(shared: Path) -> Sample:
    """Return the sample, locked; it is not to be changed."""
    return open_sample(once(shared, "sample", make_sample))


@pytest.fixture
def sample(locked: Sample, tmp_path: Path) -> Sample:
    """Return a copy of the locked sample that a test may change."""
    return locked.copy(tmp_path)


@pytest.fixture(scope="session")
def wheels(locked: Sample, shared: Path) -> Path:
    """Return the folder with the wheels of the sample, built from git; it is not to be changed."""
    return once(shared, "wheels", lambda folder: _build(locked, folder))


def _build(locked: Sample, folder: Path) -> None:
    locked.environment.ok("build", "--overlays", locked.overlays, "--out", folder, "--source", "git")
