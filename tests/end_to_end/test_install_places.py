"""Installed elsewhere than into an environment's own site-packages: targets, the user's site, zip files, read-only."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from support.environment import Done
from support.marks import MOSTLY_BY_UV, rarely
from support.rights import bound_by_permissions, read_only

from .cell import INTACT, CellEnvironment
from .shelf import NEWER

pytestmark = pytest.mark.slow


@pytest.fixture
def target(empty: CellEnvironment, tmp_path: Path) -> Path:
    """Return a folder with revision 1, installed by ``--target``."""
    folder = tmp_path / "target"
    empty.install("--target", folder, empty.shelf.pinned("app-npu"), empty.shelf.pinned("lib-npu"))
    return folder


def summary(cell: CellEnvironment) -> Done:
    """Run the summary, with what the cell has on its path, and see that it succeeds."""
    return cell.venv.environment.succeed(cell.venv.executable, "-m", "lib_npu_summary")


@MOSTLY_BY_UV
def test_target(empty: CellEnvironment, target: Path) -> None:
    there = empty.where(PYTHONPATH=str(target))
    assert there.start() == "npu+upstream"
    assert there.verify() == INTACT
    (target / "lib/core.py").unlink()
    assert there.verify() == (1, {"missing"})
    there.repair()


@MOSTLY_BY_UV
@pytest.mark.parametrize(("before", "after"), [pytest.param(1, 2, id="upgraded"), *rarely((2, 1), ids=["downgraded"])])
def test_target_of_another_revision(empty: CellEnvironment, tmp_path: Path, before: int, after: int) -> None:
    target = tmp_path / "target"
    for revision in (before, after):
        wanted = [empty.shelf.pinned(name, revision) for name in ("app-npu", "lib-npu")]
        empty.install("--upgrade", "--target", target, *wanted)
    there = empty.where(PYTHONPATH=str(target))
    assert there.start() == ("npu+upstream" if after == 1 else "npu2+upstream")
    # pip replaces files in a target, and leaves the metadata of those it replaced.
    twice = {"registered twice", "companion twice"}
    assert there.verify() == (INTACT if empty.is_uv else (1, twice))
    if not empty.is_uv:
        there.repair()


@MOSTLY_BY_UV
def test_target_over_upstream(empty: CellEnvironment, tmp_path: Path) -> None:
    target = tmp_path / "target"
    empty.seeing("index").install("--target", target, "lib==1.2.3")
    empty.install("--upgrade", "--target", target, empty.shelf.pinned("app-npu"), empty.shelf.pinned("lib-npu"))
    there = empty.where(PYTHONPATH=str(target))
    assert there.start() == "npu+upstream"
    assert not (target / "lib/stale.py").exists()
    assert there.verify() == (INTACT if empty.is_uv else (1, {"companion twice"}))
    if not empty.is_uv:
        there.repair()


def test_target_upstream_afterwards(empty: CellEnvironment, target: Path) -> None:
    # No pip compares what is in a target.
    told = empty.seeing("index").reaction("install", "--upgrade", "--target", target, f"lib=={NEWER}")
    assert told == "silent"
    there = empty.where(PYTHONPATH=str(target))
    assert there.start() == "newer"
    companion, gone = ("companion replaced", set[str]()) if empty.is_uv else ("companion twice", {"missing"})
    assert there.verify() == (1, {companion, "added", "modified", *gone})
    there.repair()
    assert there.start() == "npu+upstream"


@MOSTLY_BY_UV
def test_zip_file_of_an_installation(empty: CellEnvironment, target: Path, tmp_path: Path) -> None:
    file = tmp_path / "site.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(target.rglob("*")):
            archive.write(path, path.relative_to(target).as_posix())
    there = empty.where(PYTHONPATH=str(file))
    assert there.start() == "npu+upstream"
    assert "Engine" in summary(there).out
    assert there.verify() == INTACT


@MOSTLY_BY_UV
def test_wheels_on_the_path(empty: CellEnvironment) -> None:
    wheels = [str(wheel) for wheel in empty.shelf.wheels()]
    # A companion that comes first has Python look no further.
    assert "later on sys.path" in empty.where(PYTHONPATH=os.pathsep.join(wheels)).refused_import()
    there = empty.where(PYTHONPATH=os.pathsep.join(sorted(wheels, key=lambda wheel: "_npu-" not in wheel)))
    assert there.start() == "npu+upstream"
    assert "Engine" in summary(there).out
    # True: from a zip file without entries of folders Python does not import one without __init__.py.
    assert there.verify() == (1, {"shadowed"})
    (found,) = there.report()["findings"]
    assert "`import recipe` finds nothing" in found["what"]
    assert "only if the file lists recipe/; to repair, install the wheel" in found["cause"]
    failed = there.venv.environment.run(there.venv.executable, "-c", "import recipe")
    assert "No module named 'recipe'" in failed.err


def test_read_only(pair: CellEnvironment) -> None:
    bound = bound_by_permissions()
    python = (*bound, str(pair.venv.executable), "-I", "-m")
    with read_only(pair.venv.folder):
        for package in ("app_npu_summary", "lib_npu_summary"):
            assert pair.venv.environment.succeed(*python, package).out
            done = pair.venv.environment.succeed(*python, package, "--verify")
            assert (done.out.count("intact"), done.err) == (2, "")
        # Installers fail there; what is there stays whole.
        assert pair.reaction("install", pair.shelf.pinned("lib-npu", 2), prefix=bound) == "refuses"
        assert pair.reaction("uninstall", "lib-npu", prefix=bound) == "refuses"
        assert pair.verify() == INTACT


def test_user_site(empty: CellEnvironment) -> None:
    # An environment that sees the system's packages has a user's site too.
    config = empty.venv.folder / "pyvenv.cfg"
    config.write_text(config.read_text("utf-8").replace("-packages = false", "-packages = true"), "utf-8")
    there = empty.where(PYTHONUSERBASE=str(empty.venv.folder / "user"))
    told = there.reaction("install", "--user", empty.shelf.pinned("app-npu"), empty.shelf.pinned("lib-npu"))
    if empty.is_uv:
        assert told == "refuses"
        return
    assert told == "silent"
    assert there.start() == "npu+upstream"
    assert there.verify() == INTACT
    assert there.seeing("index").reaction("install", "--user", f"lib=={NEWER}") == "warns"
    assert there.verify() == (1, {"companion replaced", "added", "modified"})
    there.repair()
    assert there.start() == "npu+upstream"
    assert all(empty.venv.folder / "user" in Path(one["root"]).parents for one in there.report()["distributions"])
