"""An index that was written by the command, over loopback HTTP: installers take the pair from it, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from support.http_server import Served, served
from support.marks import MOSTLY_BY_UV

from .cell import INTACT, CellEnvironment
from .sample import Sample
from .shelf import Shelf

# What our wheels require and is not theirs.
OTHERS = ("packaging", "fastmath", "anymath")


@pytest.fixture
def written(shelf: Shelf, tmp_path: Path) -> Path:
    """Return an index of both revisions of ours, and of what they require."""
    others = tmp_path / "others"
    others.mkdir()
    for name in OTHERS:
        for file in (shelf.folder / "index").glob(f"{name}-*.whl"):
            shutil.copy(file, others)
    environment = shelf.environment(tmp_path)
    folders = (shelf.folder / "revision-1", shelf.folder / "revision-2", others)
    environment.ok("index", *folders, "--out", tmp_path / "site")
    return tmp_path / "site"


@pytest.fixture
def server(written: Path) -> Iterator[Served]:
    """Return where it is served."""
    with served(written) as there:
        yield there


def online(cell: CellEnvironment, url: str) -> CellEnvironment:
    """Return a cell that installs from an index alone."""
    return cell.where(
        PIP_INDEX_URL=url,
        PIP_NO_INDEX="0",
        PIP_FIND_LINKS="",
        UV_DEFAULT_INDEX=url,
        UV_OFFLINE="0",
        UV_FIND_LINKS="",
    )


def test_the_pair_is_installed_from_it(empty: CellEnvironment, server: Served, installer: str) -> None:
    cell = online(empty, server.url)
    cell.install_pair()
    assert cell.start() == "npu+upstream"
    assert cell.verify() == INTACT
    # Metadata alone say what is required; pip as old as 21.2 does not know of them.
    assert any(path.endswith(".whl.metadata") for path in server.asked) == (installer != "oldest pip")


@MOSTLY_BY_UV
def test_what_was_yanked_is_not_chosen(empty: CellEnvironment, server: Served, written: Path) -> None:
    shelf = empty.shelf
    arguments = [f"--yank={name}-npu=={shelf.version(name, 2)}" for name in ("app", "lib")]
    shelf.environment(written.parent).ok("index", *arguments, "--reason", "no good", "--out", written)
    cell = online(empty, server.url)
    cell.install("app-npu", "lib-npu")
    assert cell.registered() == {name: shelf.version(name[:3], 1) for name in ("app", "app_npu", "lib", "lib_npu")}


@pytest.mark.slow
def test_an_sdist_from_it_gives_the_wheel(locked: Sample, wheels: Path, tmp_path: Path) -> None:
    environment = locked.environment
    overlays = ("--overlays", locked.overlays)
    environment.ok("sdist", locked.lib_name, *overlays, "--out", tmp_path / "sdists", "--source", "git")
    environment.ok("index", tmp_path / "sdists", "--out", tmp_path / "site")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", tmp_path)
    with served(tmp_path / "site") as there:
        online = replace(environment, extra={"PIP_NO_INDEX": "0", "PIP_FIND_LINKS": "", "PIP_INDEX_URL": there.url})
        online.python("-m", "pip", "wheel", *options, f"lib-npu=={locked.lib_version}")
    (made,) = tmp_path.glob("*.whl")
    assert made.read_bytes() == (wheels / made.name).read_bytes()
