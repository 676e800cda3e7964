"""What `make bench` measured can be read wherever it is printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = """
from figures import Figure, show

long = "7 sets 0.77 to 1.04, upstream beside itself 0.94 to 1.02, " * 3
show([Figure(what="training step", value=1.234, unit="×", goal=1.02, detail=long)], as_json=False)
"""


def test_what_was_measured_is_shown_whole_beside_a_long_detail() -> None:
    path = os.pathsep.join((str(ROOT / "bench"), *sys.path))
    env = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=True)
    for shown in ("training step", "1.23 ×", "≤ 1.02 ×", "missed"):
        assert shown in done.stdout
