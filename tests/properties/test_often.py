"""The properties once more, with all of their examples."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .often import VARIABLE

pytestmark = pytest.mark.thorough

HERE = Path(__file__).parent
TRIED = sorted(path.name for path in HERE.glob("test_*.py") if re.search(r"=examples\(\d", path.read_text("utf-8")))


@pytest.mark.parametrize("file", TRIED)
def test_a_property_holds_of_all_its_examples(file: str, tmp_path: Path) -> None:
    arguments = [str(HERE / file), "-q", "-m", "not thorough", "--basetemp", str(tmp_path / "own")]
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=HERE.parents[1],
        env={**own, VARIABLE: "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
