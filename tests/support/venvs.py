"""Virtual environments made in a blink: without pip of their own, served by pip from outside or by uv."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from support.environment import Done, Environment


@dataclass(frozen=True, kw_only=True)
class Venv:
    """A virtual environment and the installer that serves it."""

    folder: Path
    environment: Environment
    installer: tuple[str, ...]

    @property
    def executable(self) -> Path:
        """Its Python."""
        return self.folder / "bin" / "python"

    @property
    def site(self) -> Path:
        """Where its packages lie."""
        (found,) = self.folder.glob("lib/python*/site-packages")
        return found

    def install(self, *arguments: str | Path) -> Done:
        """Install something and see that it succeeds."""
        return self._succeed("install", *arguments)

    def uninstall(self, *names: str) -> Done:
        """Uninstall something and see that it succeeds."""
        return self._succeed("uninstall", *(() if self.is_uv else ("--yes",)), *names)

    def check(self) -> Done:
        """Ask the installer whether the environment is consistent."""
        return self.ask("check")

    def ask(self, action: str, *arguments: str | Path, prefix: Sequence[str] = ()) -> Done:
        """Run the installer, after the words of a command that runs it, and return what it did, whatever that is."""
        return self.environment.run(*prefix, *self.installer, action, *self._choice(), *arguments)

    def _succeed(self, action: str, *arguments: str | Path) -> Done:
        done = self.ask(action, *arguments)
        assert done.code == 0, f"{action} {arguments}\n{done.out}{done.err}"
        return done

    def python(self, *arguments: str | Path) -> Done:
        """Run its Python in isolation from this project."""
        return self.environment.run(self.executable, "-I", *arguments)

    @property
    def is_uv(self) -> bool:
        """Whether uv is the installer."""
        return Path(self.installer[0]).stem == "uv"

    def _choice(self) -> tuple[str, ...]:
        return ("--python", str(self.executable)) if self.is_uv else ()


def make_venv(folder: Path, environment: Environment, *, uv: str | None = None, python: str = sys.executable) -> Venv:
    """Make a virtual environment of a Python; `uv` is the installer where it is given, else this environment's pip."""
    environment.succeed(python, "-m", "venv", "--without-pip", folder)
    if uv is not None:
        return Venv(folder=folder, environment=environment, installer=(uv, "pip"))
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"))
    return Venv(folder=folder, environment=environment, installer=pip)
