"""Subprocesses: one place that runs them, with a scrubbed environment and captured output."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

# Variables git sets for its hooks; inherited, they would point our git at the caller's repository.
_GIT_CONTEXT = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_SHALLOW_FILE",
)


class ProcessError(Exception):
    """A subprocess could not start, ran too long or exited non-zero; holds its printable output."""

    def __init__(self, command: Sequence[str], output: str) -> None:
        self.command = tuple(command)
        self.output = without_credentials(output.strip())
        super().__init__(self.output)


def without_credentials(text: str) -> str:
    """Return `text` with ``user:password@`` taken out of every URL."""
    return re.sub(r"(?<=://)[^/\s'\"]*@", "", text)


def run(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str | None] | None = None,
    stdin: bytes | None = None,
    timeout: float | None = None,
) -> bytes:
    """Run a command and return its standard output.

    Args:
        command: argument list; no shell is involved.
        cwd: working folder.
        env: variables to add to the inherited environment; None takes one out of it.
        stdin: bytes for standard input; nothing is inherited.
        timeout: seconds after which the command is killed.

    Raises:
        ProcessError: with the command's own words, when it fails in any way.
    """
    inherited = {name: value for name, value in os.environ.items() if name not in _GIT_CONTEXT}
    variables = {**inherited, "LC_ALL": "C.UTF-8", **(env or {})}
    try:
        done = subprocess.run(
            list(command),
            cwd=cwd,
            env={name: value for name, value in variables.items() if value is not None},
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError as error:
        raise ProcessError(command, f"{command[0]}: not found on PATH ({error})") from error
    except subprocess.TimeoutExpired as error:
        raise ProcessError(command, f"{command[0]}: no answer within {timeout:.0f} s") from error
    if done.returncode:
        output = (done.stderr + b"\n" + done.stdout).decode(errors="replace")
        raise ProcessError(command, output.strip() or f"exit status {done.returncode}")
    return done.stdout
