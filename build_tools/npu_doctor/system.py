"""The machine: its files below a root, its variables and its commands; no access raises.

`System` reads everything outside the Python environment; tests give it another root. `files` reads what is installed in
that environment, found on its path.
"""

from __future__ import annotations

import math
import os
import platform
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npu_doctor import commands, files
from npu_doctor.commands import Started

# A line of /proc/net/tcp: number, own address and port, the other's, and 0A for a socket that listens.
_LISTENING = re.compile(r"^\s*[0-9]+: [0-9A-F]+:([0-9A-F]{1,4}) [0-9A-F:]+ 0A ", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class System:
    """One machine, real by default; tests give another root, environment and path."""

    root: str = "/"  # what ``/`` means for files outside the Python environment
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))  # the environment variables
    # The folders Python imports from.
    path: Sequence[str] = field(default_factory=lambda: tuple(entry for entry in sys.path if isinstance(entry, str)))
    # Folder or file by top-level package, as a Python started here finds it, with all its finders.
    found: Mapping[str, str] = field(default_factory=dict)
    untold: str = ""  # why that could not be found; empty otherwise
    explicit_path: bool = False  # whether a child process has to get that path
    executable: str = sys.executable  # the Python that would run the training
    machine: str = field(default_factory=platform.machine)  # the processor's name, ``aarch64`` or ``x86_64``
    python: str = field(default_factory=platform.python_version)  # version of that Python, ``3.10.13``
    cpus: int | None = field(default_factory=os.cpu_count)  # how many processors it has, None where that cannot be told
    patience: float = math.inf  # how many seconds a command may take at most, however long is usual for it

    def place(self, path: str) -> str:
        """Return where a path of the machine really lies."""
        return path if self.root == "/" else f"{self.root}/{path.lstrip('/')}"

    def is_file(self, path: str) -> bool:
        """Return whether there is such a file."""
        return files.is_file(self.place(path))

    def is_folder(self, path: str) -> bool:
        """Return whether there is such a folder."""
        return files.is_folder(self.place(path))

    def exists(self, path: str) -> bool:
        """Return whether there is anything of that name, a device too."""
        return files.exists(self.place(path))

    def usable(self, path: str) -> bool:
        """Return whether this user may read and write a file."""
        return files.usable(self.place(path))

    def names(self, path: str) -> list[str]:
        """Return the names in a folder, sorted; none where it cannot be read."""
        return files.names(self.place(path))

    def text(self, path: str) -> str | None:
        """Return a file's text, with marks where it is not UTF-8; None where it cannot be read."""
        return files.text(self.place(path))

    def link(self, path: str) -> str:
        """Return what a link points to, empty where that cannot be read."""
        return files.link(self.place(path))

    def real(self, path: str) -> str:
        """Return a path with its links followed, as the machine would see it."""
        found, root = files.real(self.place(path)), files.real(self.root)
        inside = self.root != "/" and found.startswith(root + os.sep)
        return found[len(root) :] if inside else found

    def listening(self) -> set[int] | None:
        """Return the TCP ports somebody listens on; None where the kernel does not tell."""
        tables = [self.text(f"/proc/net/{name}") for name in ("tcp", "tcp6")]
        if tables[0] is None:
            return None
        ports = _LISTENING.findall("\n".join(filter(None, tables)))
        return {int(port, 16) for port in ports}

    def value(self, name: str) -> str:
        """Return a variable's value, empty when it is not set."""
        return self.env.get(name, "")

    def start(self, command: Sequence[str], *, timeout: float, env: Mapping[str, str] | None = None) -> Started:
        """Start a command found on the machine's PATH, with variables to add."""
        return commands.start(command, env={**self.env, **(env or {})}, timeout=min(timeout, self.patience))
