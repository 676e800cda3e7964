"""Constraints beside the wheels: they pin our own, so that no installer takes another build of the same version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.environment import Done
from support.marks import MOSTLY_BY_UV
from support.overlays import edit, write_stack
from support.wheels import contents

from .cell import CellEnvironment
from .sample import Sample
from .test_install_matrix import as_built

FILE = "constraints-pair.txt"


def build(sample: Sample, out: Path, *arguments: str) -> str:
    """Build, and return the constraints of the pair."""
    sample.environment.ok("build", *arguments, "--overlays", sample.overlays, "--out", out)
    return (out / FILE).read_text("utf-8")


def verify(sample: Sample, out: Path) -> Done:
    """Check all that was written."""
    return sample.environment.cli("verify-wheel", *sorted(out.iterdir()))


def pins(name: str, version: str) -> str:
    """Return what is said of an overlay."""
    return f"# of {name}:\n{name.partition('@')[0]}-npu=={version}\n{name.partition('@')[0]}=={version}\n"


def test_both_wheels_and_both_companions_are_pinned(locked: Sample, wheels: Path) -> None:
    lib = pins(locked.lib_name, locked.lib_version)
    assert (wheels / FILE).read_text() == f"# pair\n{lib}{pins(locked.app_name, locked.app_version)}"
    assert verify(locked, wheels).code == 0


def test_what_lies_there_of_a_partner_is_pinned_too(sample: Sample, tmp_path: Path) -> None:
    out = tmp_path / "out"
    app = pins(sample.app_name, sample.app_version)
    assert build(sample, out, sample.app_name) == f"# pair\n# not built beside this file: {sample.lib_name}\n{app}"
    assert verify(sample, out).code == 0
    archive = build(sample, out, sample.lib_name, "--source", "archive")
    assert "lib-npu==1.2.3+npu.1.a" in archive
    # Of two builds, the one that was asked for last; where neither was, the commit's, as installers have it.
    lib = pins(sample.lib_name, sample.lib_version)
    assert build(sample, out, sample.lib_name, "--source", "git") == f"# pair\n{lib}{app}"
    assert build(sample, out, sample.lib_name, "--source", "archive") == archive
    assert build(sample, out, sample.app_name) == f"# pair\n{lib}{app}"


def test_stacks_change_constraints_and_no_wheel(sample: Sample, wheels: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(wheels, out)
    before = contents(out)
    overlays = [sample.lib_name, sample.app_name]
    write_stack(sample.folder / "stacks", "pair", overlays=overlays, default=True, constraints=["other<2"])
    write_stack(sample.folder / "stacks", "more", overlays=overlays)
    assert build(sample, out).endswith("\nother<2\n")
    changed = {name for name, content in contents(out).items() if before.get(name) != content}
    assert changed == {FILE, "constraints-more.txt"}


def test_constraints_that_do_not_fit_the_wheels_beside_them_are_named(
    sample: Sample, wheels: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(wheels, out)
    edit(out / FILE, f"lib-npu=={sample.lib_version}", "lib-npu==1.2.3+npu.7.g0000000")
    edit(out / FILE, f"app=={sample.app_version}", "app is what")
    done = verify(sample, out)
    assert done.code == 6
    assert f"asks for lib-npu==1.2.3+npu.7.g0000000, and beside it lies {sample.lib_version}" in done.err
    assert "'app is what' is no requirement" in done.err


@pytest.mark.slow
@MOSTLY_BY_UV
def test_the_pair_of_the_constraints_is_installed_and_kept_together(empty: CellEnvironment) -> None:
    """The other builds lie there as well, and upstream's newer release."""
    revisions = [empty.shelf.folder / f"revision-{number}" / FILE for number in (1, 2)]
    for number in (1, 2, 1):
        upgrade = ("--upgrade",) if number == 2 else ()
        empty.install(*upgrade, "-c", revisions[number - 1], "app-npu")
        as_built(empty, number)
    assert empty.reaction("install", "-c", revisions[0], "modern") == "refuses"
