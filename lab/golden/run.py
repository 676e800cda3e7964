"""Command lines of npu-overlays → their output, with the paths of this machine taken out."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from environments import ROOT


class Failed(Exception):  # noqa: N818  # what happened, as `Unavailable` of environments
    """A command that had to succeed did not; the text is what it wrote to standard error."""


def output(*arguments: str | Path, codes: tuple[int, ...] = (0,)) -> str:
    """Return what a command prints, on standard error where it refuses.

    Raises:
        Failed: its exit code is none of `codes`.
    """
    command = [sys.executable, "-m", "npu_overlays", *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        message = f"npu-overlays {' '.join(map(str, arguments))}: exit code {done.returncode}\n{done.stderr}"
        raise Failed(message)
    return done.stdout or done.stderr


def digest(content: bytes | str) -> str:
    """Return the first half of a SHA-256, which is enough to tell two results apart."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()[:32]
