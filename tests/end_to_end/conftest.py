"""The sample, locked and built once a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from environments.once import once
from support.installers import INSTALLERS, download_pips, make_installer
from support.table import CELL

from .cell import CellEnvironment, make_cell
from .sample import Sample, make_sample, open_sample
from .shelf import ALL, Shelf, fill_shelf


@pytest.fixture(scope="session")
def locked(shared: Path) -> Sample:
    """Return the sample, locked; it is not to be changed."""
    return open_sample(once(shared, "sample", make_sample))


@pytest.fixture
def sample(locked: Sample, tmp_path: Path) -> Sample:
    """Return a copy of the locked sample that a test may change."""
    return locked.copy(tmp_path)


@pytest.fixture
def own_upstream(sample: Sample) -> Sample:
    """Return the sample with a clone of lib's repository that the test may commit to."""
    clone = sample.folder / "upstream-lib"
    sample.environment.succeed("git", "clone", "--quiet", sample.lib.path, clone)
    own = replace(sample.lib, path=clone, variables=sample.environment.variables)
    return replace(sample, lib=own)


@pytest.fixture(scope="session")
def wheels(locked: Sample, shared: Path) -> Path:
    """Return the folder with the wheels of the sample, built from git; it is not to be changed."""
    return once(shared, "wheels", lambda folder: _build(locked, folder))


def _build(locked: Sample, folder: Path) -> None:
    locked.environment.ok("build", "--overlays", locked.overlays, "--out", folder, "--source", "git")


@pytest.fixture(scope="session")
def shelf(locked: Sample, wheels: Path, shared: Path) -> Shelf:
    """Return what can be installed in the install matrix; it is not to be changed."""
    folder = once(shared, "shelf", lambda folder: fill_shelf(folder, locked, wheels))
    return Shelf(folder=folder, lib=locked.lib_version, app=locked.app_version)


@pytest.fixture(scope="session")
def pips(shared: Path) -> Path:
    """Return a folder with the oldest and the newest pip, or the reason why there is none."""
    return once(shared, "pips", download_pips)


# With pip, most of the time goes into starting it; the oldest does what the newest does, or says less about it.
_MARKS = {"oldest pip": [pytest.mark.slow, pytest.mark.thorough], "newest pip": [pytest.mark.slow]}


@pytest.fixture(params=[pytest.param(name, marks=_MARKS.get(name, [])) for name in INSTALLERS])
def installer(request: pytest.FixtureRequest) -> str:
    """Return the name of an installer."""
    return str(request.param)


@pytest.fixture
def bare(installer: str, shared: Path, shelf: Shelf, pips: Path) -> Path:
    """Return a virtual environment with nothing but an installer, which is not to be changed."""
    environment = shelf.environment(shared, *ALL)
    name = f"bare-{installer.replace(' ', '-')}"
    return once(shared, name, lambda folder: make_installer(installer, folder, environment, pips))


@pytest.fixture
def paired(installer: str, bare: Path, shelf: Shelf, shared: Path) -> Path:
    """Return a virtual environment with both patched distributions of revision 1, which is not to be changed."""
    name = f"pair-{installer.replace(' ', '-')}"
    return once(shared, name, lambda folder: make_cell(installer, bare, shelf, folder, []).install_pair()) / "venv"


@pytest.fixture
def told(installer: str, record_property: Callable[[str, object], None]) -> Iterator[list[str]]:
    """Return the list of what a cell did, which goes into the table."""
    told: list[str] = []
    yield told
    record_property(CELL, f"{installer}: {'; '.join(told)}")


@pytest.fixture
def empty(installer: str, bare: Path, shelf: Shelf, tmp_path: Path, told: list[str]) -> CellEnvironment:
    """Return an environment in which nothing is installed yet."""
    return make_cell(installer, bare, shelf, tmp_path, told)


@pytest.fixture
def pair(installer: str, paired: Path, shelf: Shelf, tmp_path: Path, told: list[str]) -> CellEnvironment:
    """Return an environment with both patched distributions of revision 1."""
    return make_cell(installer, paired, shelf, tmp_path, told)
