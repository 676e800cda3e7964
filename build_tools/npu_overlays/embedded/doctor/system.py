"""The machine: every file, variable and command the doctor looks at goes through here, and none of it can raise."""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH113, PTH118, PTH119, PTH123, PTH208

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

_LARGEST = 4 << 20  # no file read as text is larger; a runaway log under a known name must not fill memory


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a command said.

    Args:
        code: its exit status, negative for a signal, None when it did not run.
        out: standard output.
        err: standard error.
        problem: why there is no answer; empty when it ran.
    """

    code: int | None
    out: str = ""
    err: str = ""
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class System:
    """One machine, real by default; tests give another root, environment and path.

    Args:
        root: what ``/`` means for files outside the Python environment.
        env: the environment variables.
        path: the folders Python imports from.
        explicit_path: whether a child process has to be told that path.
        executable: the Python that would run the training.
        machine: the processor's name, ``aarch64`` or ``x86_64``.
        python: version of that Python, ``3.10.13``.
    """

    root: str = "/"
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    path: Sequence[str] = field(default_factory=lambda: tuple(entry for entry in sys.path if isinstance(entry, str)))
    explicit_path: bool = False
    executable: str = sys.executable
    machine: str = field(default_factory=platform.machine)
    python: str = field(default_factory=platform.python_version)

    def place(self, path: str) -> str:
        """Return where a path of the machine really lies."""
        return path if self.root == "/" else os.path.join(self.root, path.lstrip("/"))

    def is_file(self, path: str) -> bool:
        """Return whether there is such a file."""
        return _safe(os.path.isfile, self.place(path))

    def is_dir(self, path: str) -> bool:
        """Return whether there is such a folder."""
        return _safe(os.path.isdir, self.place(path))

    def exists(self, path: str) -> bool:
        """Return whether there is anything of that name, a device too."""
        return _safe(os.path.exists, self.place(path))

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; none where it cannot be read."""
        return names(self.place(path))

    def text(self, path: str) -> str | None:
        """Return a file's text, with marks where it is not UTF-8; None where it cannot be read."""
        return text(self.place(path))

    def real(self, path: str) -> str:
        """Return a path with its links followed, as the machine would see it."""
        try:
            found = os.path.realpath(self.place(path))
            root = os.path.realpath(self.root)
        except (OSError, ValueError):
            return path
        inside = self.root != "/" and found.startswith(root + os.sep)
        return found[len(root) :] if inside else found

    def value(self, name: str) -> str:
        """Return a variable's value, empty when it is not set."""
        return self.env.get(name, "")

    def run(self, command: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None) -> Answer:
        """Run a command found on the machine's PATH and return what it said.

        Args:
            command: name and arguments; no shell is involved.
            timeout: seconds after which it and its children are killed.
            env: variables to add.
        """
        program = shutil.which(command[0], path=self.value("PATH"))
        if program is None:
            return Answer(code=None, problem=f"{command[0]} is not on PATH")
        try:
            with (
                subprocess.Popen(  # an argument list, never a shell
                    [program, *command[1:]],
                    env={**self.env, **(env or {})},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                ) as process
            ):
                return _answer(process, timeout)
        except (OSError, ValueError) as error:
            return Answer(code=None, problem=f"{command[0]} cannot be run: {error}")


def _answer(process: subprocess.Popen[bytes], timeout: float) -> Answer:
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Answer(code=None, problem=f"{os.path.basename(str(process.args[0]))}: no answer within {timeout:.0f} s")  # type: ignore[index]
    return Answer(code=process.returncode, out=_decode(out), err=_decode(err))


def text(path: str) -> str | None:
    """Return the text of a regular file, cut where it is very long; None where it cannot be read."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return _decode(file.read(_LARGEST))
    except (OSError, ValueError):
        return None


def names(path: str) -> list[str]:
    """Return the names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(path))
    except (OSError, ValueError):
        return []


def _decode(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _safe(question: object, path: str) -> bool:
    try:
        return bool(question(path))  # type: ignore[operator]
    except (OSError, ValueError):  # a name with a zero byte
        return False
