"""Ranks: a script or module in, what two ranks of it wrote out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RANKS = 2


def run(start: Path | str, *arguments: str, folder: Path, packages: str = "", npu: bool = False) -> str:
    """Run two ranks and return what they wrote; fails where one of them does.

    Args:
        start: path of a script, or name of a module.
        arguments: theirs.
        folder: where they run.
        packages: folder with upstream's packages, to run them with those.
        npu: whether scripts that import `conftest` have the emulated NPU.
    """
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={RANKS}"]
    what = [str(start)] if isinstance(start, Path) else ["-m", start]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "EMULATED_NPU": str(int(npu))}
    variables |= {"PYTHONPATH": packages} if packages else {}
    done = subprocess.run(
        [*command, *what, *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    written = done.stdout + done.stderr
    assert done.returncode == 0, written[-4000:]
    return written
