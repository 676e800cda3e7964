"""The script behind `make wheels`: installs what was built and prints what it says of itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from end_to_end.sample import Sample, make_sample, open_sample
from support.environment import Done
from support.once import once

from .conftest import ROOT


@pytest.fixture
def sample(shared: Path, tmp_path: Path) -> Sample:
    """Return a copy of the sample the end-to-end tests build."""
    return open_sample(once(shared, "sample", make_sample)).copy(tmp_path)


def try_wheels(sample: Sample, *selection: str) -> Done:
    """Run the script in the sample's folder."""
    options = ("--environment", "trial", "--out", "wheels", "--", "--overlays", str(sample.overlays), *selection)
    return sample.environment.run(sys.executable, ROOT / "ci" / "try_wheels.py", *options, cwd=sample.folder)


def test_installs_the_wheels_with_their_companions_and_prints_the_summary(sample: Sample) -> None:
    done = try_wheels(sample)
    assert done.code == 0, done.err
    assert "$ trial/bin/python -m app_npu_summary\n" in done.out
    assert "Patch File1: " in done.out
    for project in ("app", "lib"):
        assert f"================ {project} Patch Summary ================" in done.out
    installed = [path.name for path in (sample.folder / "trial").glob("lib/python*/site-packages/*.dist-info")]
    assert sorted(name.partition("-")[0] for name in installed) == ["app", "app_npu", "lib", "lib_npu"]


def test_installs_anew_only_where_the_wheels_changed(sample: Sample) -> None:
    first = try_wheels(sample)
    second = try_wheels(sample)
    assert "pip" in first.out
    assert "pip" not in second.out
    assert second.out.endswith(first.out.partition("_summary\n")[2])
    one = try_wheels(sample, sample.lib_name)
    assert "pip" in one.out
    assert "app Patch Summary" not in one.out


def test_ends_with_what_the_build_said_where_that_failed(sample: Sample) -> None:
    done = try_wheels(sample, "lib@ffffff0")
    assert done.code == 3
    assert "no such overlay" in done.err
    assert "Traceback" not in done.err
    assert not (sample.folder / "trial").exists()
