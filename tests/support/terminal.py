"""A terminal: a command runs on it → its exit code, and all that it showed there."""

from __future__ import annotations

import os
import pty
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def on_terminal(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    output: bool = True,
) -> tuple[int, str]:
    """Run a command with standard input and standard error on a terminal; standard output too, or it is dropped."""
    ours, theirs = pty.openpty()
    stdout = theirs if output else subprocess.DEVNULL
    with subprocess.Popen(command, stdin=theirs, stdout=stdout, stderr=theirs, env=env, cwd=cwd) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # how Linux tells that the other end is closed
                break
            if not part:  # and other systems
                break
            shown += part
    os.close(ours)
    return process.returncode, shown.decode(errors="replace")
