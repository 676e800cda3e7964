"""The overlays of this repository, brought back from checkouts of them: as they are, and from the edited tree alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from npu_overlays.authoring.init.overlay_files import InitialSettings, configuration
from npu_overlays.authoring.refresh.equivalence import same_program
from npu_overlays.model.module import Module
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.overlay_folders import overlay_folders
from npu_overlays.overlay.project import Overlay
from support.wheelhouse import PROJECT

from .test_checkout import files

pytestmark = [pytest.mark.upstream, pytest.mark.thorough]
PINS = overlay_folders(PROJECT / "overlays")


def cli(*command: str | Path, cwd: Path) -> str:
    """Run the tool with the user's own configuration, which leads to the repositories; skips where it does not."""
    words = [sys.executable, "-m", "npu_overlays", *map(str, command)]
    done = subprocess.run(words, cwd=cwd, env=dict(os.environ), capture_output=True, text=True, check=False)
    if done.returncode == 4:
        pytest.skip(f"the pinned source cannot be had: {done.stderr}")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(params=PINS, ids=lambda folder: str(folder.name))
def overlay(request: pytest.FixtureRequest, tmp_path: Path) -> Overlay:
    """Return each overlay in turn, copied with all that it is made of."""
    shutil.copytree(PROJECT / "overlays", tmp_path / "overlays")
    shutil.copytree(PROJECT / "stacks", tmp_path / "stacks")
    return load_overlay(tmp_path / "overlays" / request.param.name)


def test_what_nobody_edited_changes_nothing(overlay: Overlay, tmp_path: Path) -> None:
    before = files(tmp_path / "overlays")
    cli("checkout", overlay.name, "work", cwd=tmp_path)
    assert "nothing to bring back" in cli("refresh", overlay.name, "work", cwd=tmp_path)
    assert files(tmp_path / "overlays") == before


def test_from_upstream_and_the_edited_tree_alone_comes_an_overlay_that_gives_it(
    overlay: Overlay, tmp_path: Path
) -> None:
    cli("checkout", overlay.name, "edited", cwd=tmp_path)
    bare = tmp_path / "bare" / "overlays" / overlay.name
    bare.mkdir(parents=True)
    pin = replace(overlay.pin, archives=() if overlay.pin.commit else overlay.pin.archives)
    start = InitialSettings(pin=pin, suffix="bare", license_files=overlay.license_files, not_built=overlay.not_built)
    (bare / "pyproject.toml").write_text(configuration(start), "utf-8")
    cli("checkout", overlay.name, "work", cwd=tmp_path / "bare")
    work, again = tmp_path / "bare" / "work", tmp_path / "bare" / "again"
    upstream, wanted = files(work), files(tmp_path / "edited")
    for path in upstream.keys() - wanted.keys():
        (work / path).unlink()
    for path in wanted:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tmp_path / "edited" / path, work / path)
    cli("refresh", overlay.name, work, "--why", "As before.", cwd=tmp_path / "bare")
    cli("checkout", overlay.name, again, cwd=tmp_path / "bare")
    given = files(again)
    assert given.keys() == wanted.keys()
    assert [path for path in given if not same(path, given, wanted, upstream)] == []


def same(path: str, *states: dict[str, tuple[bytes, bool]]) -> bool:
    """Return whether a file is the same in the first two of three states, a module as the third knows its names."""
    given, wanted, upstream = (state.get(path, (b"", False)) for state in states)
    if given == wanted:
        return True
    known = Module(path, upstream[0]).definitions.keys() if path.endswith(".py") else frozenset()
    return path.endswith(".py") and given[1] == wanted[1] and same_program(given[0], wanted[0], known)
