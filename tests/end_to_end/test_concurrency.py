"""Several builds at once on one cold cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.marks import rarely
from support.wheels import contents, record_problems_below

from .sample import Sample


@pytest.fixture
def sample(locked: Sample, tmp_path: Path) -> Sample:
    """Return a copy of the locked sample, of whose upstreams nothing was fetched yet."""
    return locked.copy(tmp_path, fetched=False)


@pytest.mark.slow
@pytest.mark.parametrize("one_output", [True, *rarely(False)])  # noqa: FBT003  # a parameter
def test_three_builds_at_once_on_a_cold_cache_all_succeed(sample: Sample, wheels: Path, *, one_output: bool) -> None:
    outs = [sample.folder / ("out" if one_output else f"out{number}") for number in range(3)]
    processes = []
    for out in outs:
        command = [sys.executable, "-m", "npu_overlays", "build", "--overlays", str(sample.overlays), "--out", str(out)]
        processes.append(
            subprocess.Popen(
                command, env=sample.environment.variables(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        )
    said = [process.communicate()[0].decode() for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    for out in outs:
        assert contents(out) == contents(wheels)
        assert record_problems_below(out) == []
    assert list((sample.environment.cache / "tmp").iterdir()) == []
