"""An overlay and one condition → the bytes of the wheels that come of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

# What of a user's environment has a say in how Python starts, or in what is built; all else, indexes and proxies
# among it, is the user's.
_FOREIGN = ("PYTHON", "LC_", "LANG", "NPU_OVERLAYS_SOURCE", "SOURCE_DATE_EPOCH", "TZ")
_UMASK = 'umask "$1"; shift; exec "$@"'


@dataclass(frozen=True, kw_only=True)
class Tool:
    """An installation of npu-overlays.

    Args:
        python: the Python that runs it.
        variables: what that needs to find it.
    """

    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What is built, and how.

    Args:
        root: the folder in which ``overlays`` and ``stacks`` lie.
        overlay: the name of the overlay.
        source: ``git`` or ``archive``: the version says which it was, so it is the same everywhere.
        work: an empty folder of this build's own.
        tool: what builds.
        umask: of the process.
        variables: environment variables beside the user's.
    """

    root: Path
    overlay: str
    source: str
    work: Path
    tool: Tool = field(default_factory=Tool)
    umask: str = "022"
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The overlay's folder."""
        return self.root / "overlays" / self.overlay

    @property
    def out(self) -> Path:
        """Where wheels are written to."""
        return self.work / "out"

    def run(self, *arguments: str | Path) -> None:
        """Run a module of the tool's Python; raises `CalledProcessError`, with what it printed as its output."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        # Else all but the first would be what was merged then.
        own = {"NPU_OVERLAYS_SOURCE": self.source, "NPU_OVERLAYS_ANEW": "1", **self.tool.variables, **self.variables}
        subprocess.run(
            ["bash", "-c", _UMASK, "bash", self.umask, self.tool.python, "-m", *map(str, arguments)],  # noqa: S607  # the one on PATH
            cwd=self.work,
            env={**kept, **own},
            check=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def wheels(self) -> dict[str, bytes]:
        """Return what was built."""
        return {file.name: file.read_bytes() for file in sorted(self.out.glob("*.whl"))}

    def build(self) -> dict[str, bytes]:
        """Build by the command: the wheel and its companion."""
        arguments = (self.overlay, "--overlays", self.root / "overlays", "--out", self.out)
        self.run("npu_overlays", "build", *arguments)
        return self.wheels()

    def build_at_once(self) -> dict[str, bytes]:
        """Build by the command, beside a build of a copy of the same overlay: the wheel and its companion."""
        twin = self.moved(self.work / "twin")
        self.run("npu_overlays", "build", self.folder, twin.folder, "--jobs", "2", "--out", self.out)
        return self.wheels()

    def build_by_build(self) -> dict[str, bytes]:
        """Build by ``python -m build``, in place: the wheel."""
        self.run("build", "--wheel", "--no-isolation", "--outdir", self.out, self.folder)
        return self.wheels()

    def build_by_pip(self) -> dict[str, bytes]:
        """Build by pip: the wheel."""
        self._pip(self.folder)
        return self.wheels()

    def build_through_sdist(self) -> dict[str, bytes]:
        """Build by ``python -m build`` through the overlay's own sdist: the wheel."""
        self.run("build", "--no-isolation", "--outdir", self.out, self.folder)
        return self.wheels()

    def build_from_forks(self) -> dict[str, bytes]:
        """Build from what ``npu-overlays sdist`` writes, by hatchling alone: the wheel and its companion."""
        sdists = self.work / "sdists"
        self.run("npu_overlays", "sdist", self.overlay, "--overlays", self.root / "overlays", "--out", sdists)
        for sdist in sorted(sdists.glob("*.tar.gz")):
            self._pip(sdist)
        return self.wheels()

    def _pip(self, project: Path) -> None:
        arguments = ("--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", self.out, project)
        self.run("pip", "--disable-pip-version-check", "wheel", *arguments)

    def moved(self, root: Path) -> Setting:
        """Return the same with a copy of all overlays and stacks in another folder."""
        for part in ("overlays", "stacks"):
            shutil.copytree(self.root / part, root / part)
        return replace(self, root=root)

    def given_out(self) -> Setting:
        """Return the same with a copy of the overlay as a revision: what is in development says so in its version."""
        there = self.moved(self.work / "given out")
        self.run("npu_overlays", "revise", there.folder, "--why", "It is to be compared.")
        return there

    def rewritten(self) -> Setting:
        """Return the same with files that were written in another order, at other dates, and are closed to others."""
        there = self.moved(self.work / "rewritten")
        for number, path in enumerate(sorted((there.root / "overlays").rglob("*"), reverse=True)):
            if path.is_file() and not path.is_symlink():
                content, mode = path.read_bytes(), path.stat().st_mode
                path.unlink()
                path.write_bytes(content)
                path.chmod(0o700 if mode & 0o100 else 0o600)
                os.utime(path, (number, number))
        return there
