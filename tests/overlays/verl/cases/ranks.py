"""Ranks: a script in, what each of two ranks of it wrote out."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

RANKS = 2


@dataclass(frozen=True, kw_only=True)
class Written:
    """What one rank wrote, to files of its own: in one pipe, lines of two ranks run into each other."""

    out: str
    err: str


def run(script: Path, *arguments: str, folder: Path, packages: str = "", npu: bool = False) -> list[Written]:
    """Run two ranks and return what each wrote; fails where one of them does.

    Args:
        script: path of a script.
        arguments: its arguments.
        folder: where it runs.
        packages: folder with upstream's packages, to run it with those.
        npu: whether scripts that import `conftest` have the emulated NPU.
    """
    logs = Path(tempfile.mkdtemp(dir=folder))
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={RANKS}"]
    command = [*launcher, "--redirects=3", f"--log-dir={logs}", str(script), *arguments]
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "EMULATED_NPU": str(int(npu))}
    variables |= {"PYTHONPATH": packages} if packages else {}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    found = [Written(out=_read(logs, rank, "stdout"), err=_read(logs, rank, "stderr")) for rank in range(RANKS)]
    tails = "\n".join(f"{one.out[-2000:]}{one.err[-4000:]}" for one in found)
    assert done.returncode == 0, f"{tails}\n{done.stderr[-2000:]}"
    return found


def _read(logs: Path, rank: int, stream: str) -> str:
    # None where the launcher failed before it started a rank.
    return "".join(file.read_text("utf-8", "replace") for file in logs.glob(f"*/attempt_0/{rank}/{stream}.log"))
