"""Command lines of npu-overlays → their output, with the paths of this machine taken out."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from environments import ROOT

_UNREACHED = 4


class Failed(Exception):  # noqa: N818  # what happened, as `Unavailable` of environments
    """A command that had to succeed did not; the text is what it wrote to standard error."""


class Unreached(Failed):
    """A command that had to succeed did not reach a source."""


def output(*arguments: str | Path, codes: tuple[int, ...] = (0,), is_offline: bool = False) -> str:
    """Return what a command prints, on standard error where it refuses.

    Args:
        arguments: of `npu-overlays`.
        codes: the exit codes that are no failure.
        is_offline: whether git may reach no repository, for an answer that is the same with and without one.

    Raises:
        Failed: its exit code is none of `codes`; `Unreached` where it says that a source cannot be reached.
    """
    command = [sys.executable, "-m", "npu_overlays", *map(str, arguments)]
    environment = {**os.environ, "GIT_ALLOW_PROTOCOL": "none"} if is_offline else None
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False)
    # Not as text, which would exchange the line ends of a diff.
    out, err = done.stdout.decode(), done.stderr.decode()
    if done.returncode not in codes:
        message = f"npu-overlays {' '.join(map(str, arguments))}: exit code {done.returncode}\n{out or err}"
        raise (Unreached if done.returncode == _UNREACHED else Failed)(message)
    return out or err


def digest(content: bytes | str) -> str:
    """Return the first half of a SHA-256, which is enough to tell two results apart."""
    return hashlib.sha256(content if isinstance(content, bytes) else content.encode()).hexdigest()[:32]
