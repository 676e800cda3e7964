"""Commands of the machine: arguments → what the command said, or why it said nothing. None of it can raise."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CommandAnswer:
    """What a command said."""

    code: int | None  # its exit status, negative for a signal, None when it did not run or did not end
    out: str = ""  # standard output
    err: str = ""  # standard error
    problem: str = ""  # why there is no answer, or no whole one; empty when it ran


@dataclass(frozen=True, kw_only=True)
class Started:
    """A command that runs while other things are looked at."""

    process: subprocess.Popen[bytes] | None = None  # it, None where it could not be started
    name: str = ""  # its name, for messages
    timeout: float = 0  # how long it may take in all, in seconds
    end: float = 0  # when that is over
    problem: str = ""  # why it could not be started

    def answer(self) -> CommandAnswer:
        """Wait for it and return what it said, also where it had to be killed."""
        if self.process is None:
            return CommandAnswer(code=None, problem=self.problem)
        with self.process as process:
            try:
                out, err = process.communicate(timeout=max(0, self.end - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                problem = f"{self.name}: no answer within {self.timeout:g} s"
                return CommandAnswer(code=None, out=decode(out), err=decode(err), problem=problem)
            return CommandAnswer(code=process.returncode, out=decode(out), err=decode(err))


def start(command: Sequence[str], *, env: Mapping[str, str], timeout: float) -> Started:
    """Start a command.

    Args:
        command: name and arguments; no shell is involved.
        env: its variables; it is looked for on their PATH, but not in entries that mean the current folder.
        timeout: seconds from now after which it and its children are killed.
    """
    name = command[0].rpartition("/")[2]
    # An empty entry, "." or "bin" would run a program of anybody who can write there, as an administrator.
    path = os.pathsep.join(filter(os.path.isabs, env.get("PATH", "").split(os.pathsep)))
    program = shutil.which(command[0], path=path)
    if program is None:
        return Started(problem=f"{name} is not on PATH")
    try:
        process = subprocess.Popen(
            [program, *command[1:]],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Started(problem=f"{name} cannot be run: {error}")
    return Started(process=process, name=name, timeout=timeout, end=time.monotonic() + timeout)


def decode(content: bytes) -> str:
    """Return text, with marks where it is not UTF-8."""
    return content.decode("utf-8", "replace")
