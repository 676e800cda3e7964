"""The machine: its files, variables and commands, of which none can raise.

What lies outside the Python environment is looked at through `System`, which tests give another root. What is installed
in that environment is found on its path, by real paths; the functions below `System` read it.
"""

# Paths are the strings of sys.path and of the environment, thousands of them.
# ruff: noqa: PTH113, PTH115, PTH118, PTH123, PTH208

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npu_doctor import commands
from npu_doctor.commands import Started

_LARGEST = 4 << 20  # no file read as text is larger; a runaway log under a known name must not fill memory
# A line of /proc/net/tcp: number, own address and port, the other's, and 0A for a socket that listens.
_LISTENING = re.compile(r"^\s*[0-9]+: [0-9A-F]+:([0-9A-F]{1,4}) [0-9A-F:]+ 0A ", re.MULTILINE)


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
        patience: how many seconds a command may take at most, however long is usual for it.
    """

    root: str = "/"
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    path: Sequence[str] = field(default_factory=lambda: tuple(entry for entry in sys.path if isinstance(entry, str)))
    explicit_path: bool = False
    executable: str = sys.executable
    machine: str = field(default_factory=platform.machine)
    python: str = field(default_factory=platform.python_version)
    patience: float = math.inf

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

    def link(self, path: str) -> str:
        """Return what a link points to, empty where that cannot be read."""
        try:
            return os.readlink(self.place(path))
        except (OSError, ValueError):
            return ""

    def usable(self, path: str) -> bool:
        """Return whether this user may read and write a file."""
        return _safe(lambda place: os.access(place, os.R_OK | os.W_OK), self.place(path))

    def listening(self) -> set[int] | None:
        """Return the TCP ports somebody listens on; None where the kernel does not tell."""
        tables = [self.text(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
        if tables[0] is None:
            return None
        return {int(port, 16) for table in tables for port in _LISTENING.findall(table or "")}

    def value(self, name: str) -> str:
        """Return a variable's value, empty when it is not set."""
        return self.env.get(name, "")

    def start(self, command: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None) -> Started:
        """Start a command found on the machine's PATH, with variables to add."""
        return commands.start(command, env={**self.env, **(env or {})}, timeout=min(timeout, self.patience))


def content(path: str, *, most: int = -1) -> bytes | None:
    """Return what a regular file holds, cut at `most` bytes; None where it cannot be read.

    Opening anything else can take for ever: a pipe waits for somebody to write to it.
    """
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            return file.read(most)
    except (OSError, ValueError):
        return None


def text(path: str) -> str | None:
    """Return the text of a regular file, cut where it is very long; None where it cannot be read."""
    found = content(path, most=_LARGEST)
    return None if found is None else commands.decode(found)


def names(path: str) -> list[str]:
    """Return the names in a folder, sorted; none where it cannot be read."""
    try:
        return sorted(os.listdir(path))
    except (OSError, ValueError):
        return []


def _safe(question: object, path: str) -> bool:
    try:
        return bool(question(path))  # type: ignore[operator]
    except (OSError, ValueError):  # a name with a zero byte
        return False
