"""Process: one place that runs them, with captured output and an end to every wait."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_TICK = 1.0


class ProcessError(Exception):
    """A subprocess could not start, ran too long or exited non-zero; holds its printable output."""

    def __init__(self, command: Sequence[str], output: str) -> None:
        self.command = tuple(command)
        self.output = without_credentials(output.strip())
        super().__init__(self.output)


class SilentError(ProcessError):
    """A subprocess was ended because it had said nothing for too long."""


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
        env: variables to add to the inherited environment; None takes one away.
        stdin: bytes for standard input; nothing is inherited.
        timeout: seconds after which the command is killed.

    Raises:
        ProcessError: with the command's own words, when it fails in any way.
    """
    try:
        done = subprocess.run(
            list(command),
            cwd=cwd,
            env=_environment(env),
            input=stdin if stdin is not None else b"",
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except OSError as error:
        raise _not_started(command, error, cwd) from error
    except subprocess.TimeoutExpired as error:
        raise ProcessError(command, f"{command[0]}: no answer within {timeout:.0f} s") from error
    if done.returncode:
        output = (done.stderr + b"\n" + done.stdout).decode(errors="replace")
        raise ProcessError(command, output.strip() or f"exit status {done.returncode}")
    return done.stdout


def watch(
    command: Sequence[str],
    *,
    env: Mapping[str, str | None],
    patience: float,
    timeout: float,
    heard: Callable[[str, float], None],
) -> None:
    """Run a command that reports its progress on standard error, and end it when it has said nothing for long.

    Args:
        command: argument list; no shell is involved.
        env: variables to add to the inherited environment; None takes one away.
        patience: seconds of silence after which the command and what it started are killed.
        timeout: seconds after which they are killed in any case.
        heard: called about once a second with the last line and the seconds since.

    Raises:
        SilentError: it was silent for too long.
        ProcessError: with the command's own words, when it fails in any other way.
    """
    try:
        process = subprocess.Popen(
            list(command),
            env=_environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,  # so that the helpers that hold git's connections end with it
        )
    except OSError as error:
        raise _not_started(command, error, None) from error
    try:
        said = _listen(command, process, patience, timeout, heard)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        raise ProcessError(command, _without_progress(said) or f"exit status {process.returncode}")


def _listen(
    command: Sequence[str],
    process: subprocess.Popen[bytes],
    patience: float,
    timeout: float,
    heard: Callable[[str, float], None],
) -> str:
    assert process.stderr is not None  # noqa: S101  # it is a pipe
    began = last = time.monotonic()
    said = bytearray()
    with selectors.DefaultSelector() as selector, process.stderr as stream:
        selector.register(stream, selectors.EVENT_READ)
        while True:
            more = os.read(stream.fileno(), 65536) if selector.select(_TICK) else None
            if more == b"":
                process.wait()
                return said.decode(errors="replace")
            now = time.monotonic()
            last = now if more else last
            said += more or b""
            if now - last >= patience:
                raise SilentError(command, f"no answer within {patience:.0f} s")
            if now - began >= timeout:
                raise ProcessError(command, f"{command[0]}: not done within {timeout:.0f} s")
            heard(_last_line(said), now - last)


def _last_line(said: bytearray) -> str:
    lines = [line.strip() for line in re.split(rb"[\r\n]", said[-2000:]) if line.strip()]
    return without_credentials(lines[-1].decode(errors="replace")) if lines else ""


def _without_progress(said: str) -> str:
    """Return the lines of git's standard error that are no progress: those are written over by a carriage return."""
    lines = (line.rpartition("\r")[2].strip() for line in said.split("\n"))
    return "\n".join(line for line in lines if line)


def _environment(env: Mapping[str, str | None] | None) -> dict[str, str]:
    changed = {**os.environ, "LC_ALL": "C.UTF-8", **(env or {})}
    return {name: value for name, value in changed.items() if value is not None}


def _not_started(command: Sequence[str], error: OSError, cwd: Path | None) -> ProcessError:
    # The folder that is not there is reported just like a program that is not there.
    if cwd is not None and not cwd.is_dir():
        return ProcessError(command, f"{cwd}: no such folder")
    if isinstance(error, FileNotFoundError):
        return ProcessError(command, f"{command[0]}: not found on PATH ({error})")
    return ProcessError(command, f"{command[0]}: cannot be started: {error}")
