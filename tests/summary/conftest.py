"""A site folder with summary packages as a wheel would install them, and every Python to run them with."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import npu_summary
from support.pythons import ENDS, some_python

if TYPE_CHECKING:
    from .samples import Json

SOURCE = Path(npu_summary.__file__).parent
DIFF = "--- a/verl/x.py\n+++ b/verl/x.py\n@@ -1 +1 @@\n-größe\n+昇腾\n".encode() + b"\\ No newline\r\n\xff\n"


class SummarySite:
    """A folder on ``sys.path``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def install(self, changes: Json, package: str = "") -> Path:
        """Lay down a summary package as the wheel builder does; returns its folder."""
        target = self.folder / (package or f"{changes['upstream']['project']}_npu_summary")
        # With what is compiled of it, which each process would compile again; not with what is just being written.
        shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("*.pyc.*"))
        (target / "changes.json").write_text(json.dumps(changes), encoding="utf-8")
        (target / "changes.diff").write_bytes(DIFF)
        return target

    def run(
        self, *args: str, python: str = sys.executable, package: str = "verl_npu_summary", **env: str
    ) -> subprocess.CompletedProcess[bytes]:
        """Run ``python -m <package>`` in a folder of its own with this one on the path."""
        return subprocess.run(
            [python, "-B", "-m", package, *args],
            env=self.environment(**env),
            cwd=self.folder.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )

    def environment(self, **env: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LC_", "LANG"))}
        return {**kept, "PYTHONPATH": str(self.folder), **env}


@pytest.fixture
def site(tmp_path: Path) -> SummarySite:
    folder = tmp_path / "site"
    folder.mkdir()
    return SummarySite(folder)


@pytest.fixture(params=ENDS)
def python(request: pytest.FixtureRequest) -> str:
    """Return each supported Python of this machine."""
    return some_python(request.param)
