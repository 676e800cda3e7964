"""The site of this repository's documents and of a folder of wheels, built once a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from environments.once import once
from support.environment import Environment

from .shelves import fill

ROOT = Path(__file__).resolve().parents[2]
REPORT = "<!DOCTYPE html>\n<html><head><title>Drift of verl &amp; more</title></head><body><h1>Drift</h1></body></html>"


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(folder=tmp_path)


@pytest.fixture(scope="session")
def wheels(shared: Path) -> Path:
    """Return a folder of wheels; it is not to be changed."""
    return once(shared, "website-wheels", fill)


@pytest.fixture(scope="session")
def site(shared: Path, wheels: Path) -> Path:
    """Return a site with all that one can have; it is not to be changed."""

    def make(folder: Path) -> None:
        (folder / "verl drift.html").write_text(REPORT, "utf-8")
        options = ("--documents", ROOT, "--out", folder / "site", "--drift", folder / "verl drift.html")
        Environment(folder=folder).ok("site", wheels, *options)

    return once(shared, "website", make) / "site"
