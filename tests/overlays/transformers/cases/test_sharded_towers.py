"""Vision towers with sharded parameters: one rank has an image and the other has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("tower_ranks.py")
LAB = Path(__file__).parents[4] / "lab"


def test_ranks_with_and_without_images_train_together() -> None:
    path = os.pathsep.join(filter(None, (str(LAB), os.environ.get("PYTHONPATH"))))
    run = subprocess.run(
        [sys.executable, str(SCRIPT)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert run.returncode == 0, run.stderr
