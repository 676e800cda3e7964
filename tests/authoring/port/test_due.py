"""`check`: what has met its own `drop_when`, and a commit that is known by its history."""

from __future__ import annotations

from pathlib import Path

import pytest

from end_to_end.sample import Sample, make_sample, open_sample
from environments.once import once


@pytest.fixture
def sample(shared: Path, tmp_path: Path) -> Sample:
    return open_sample(once(shared, "sample", make_sample)).copy(tmp_path)


def test_named_and_with_due_an_error(sample: Sample) -> None:
    overlay = sample.lib_overlay / "tree/src/lib/core.py"
    text = overlay.read_text().replace('drop_when="upstream stops at once"', 'drop_when="symbol src/lib/core.py:main"')
    commit = sample.lib.git("rev-parse", "main")
    overlay.write_text(text.replace('why="Tells the device."', f'why="Tells the device.", drop_when="commit {commit}"'))
    sample.environment.ok("lock", sample.lib_name)
    done = sample.environment.ok("check", sample.lib_name)
    said = "can be dropped: `symbol src/lib/core.py:main` holds in upstream 1.2.3"
    assert done.err.count(said) == 1
    assert "`commit" not in done.err
    sample.environment.ok("drift", sample.lib_name, "--range", "..main")
    failed = sample.environment.cli("check", sample.lib_name, "--due")
    assert failed.code == 5
    assert failed.err.count(said) == 1
    assert f"can be dropped: `commit {commit}` holds in upstream 1.2.3" in failed.err
    assert "as declared" in failed.out
