"""A cell of the install matrix: one installer in one environment, what it did, and what verify says then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.environment import Done
from support.installers import copy_installer
from support.pythons import find_uv
from support.venvs import Venv

from .shelf import ALL, Shelf

# What verify returns where all is as it was built.
INTACT: tuple[int, set[str]] = (0, set())
_WARNINGS = ("which is incompatible", "which is not installed")


@dataclass(frozen=True, kw_only=True)
class CellEnvironment:
    """One installer at work.

    Args:
        venv: where it installs.
        shelf: what there is to install.
        told: a word or two for each thing that was done or verified, for the table.
    """

    venv: Venv
    shelf: Shelf
    told: list[str]

    @property
    def is_uv(self) -> bool:
        """Whether uv is the installer; else some pip is."""
        return self.venv.is_uv

    @property
    def again(self) -> str:
        """The option that makes the installer install what is there already."""
        return "--reinstall" if self.is_uv else "--force-reinstall"

    def where(self, **variables: str) -> CellEnvironment:
        """Return this cell with further environment variables."""
        environment = self.venv.environment
        environment = replace(environment, extra={**environment.extra, **variables})
        return replace(self, venv=replace(self.venv, environment=environment))

    def seeing(self, *names: str) -> CellEnvironment:
        """Return this cell with only the named folders of the shelf for installers to find."""
        return self.where(**self.shelf.links(*names))

    def install(self, *arguments: str | Path) -> None:
        """Install something and see that it succeeds, without a warning."""
        done = self.venv.ask("install", *arguments)
        assert _reaction(done) == "silent", f"{arguments}\n{done.out}{done.err}"

    def install_pair(self, revision: int = 1) -> None:
        """Install both patched distributions of a revision by name, with all they require."""
        self.install(self.shelf.pinned("app-npu", revision), self.shelf.pinned("lib-npu", revision))

    def reaction(self, action: str, *arguments: str | Path, prefix: Sequence[str] = ()) -> str:
        """Let the installer do something; return ``refuses``, ``warns`` or ``silent``."""
        yes = ("--yes",) if action == "uninstall" and not self.is_uv else ()
        told = _reaction(self.venv.ask(action, *yes, *arguments, prefix=prefix))
        self.told.append(told)
        return told

    def check(self) -> int:
        """Return the exit code of the installer's own check."""
        code = self.venv.check().code
        self.told.append(f"check {code}")
        return code

    def verify(self, summary: str = "app_npu_summary") -> tuple[int, set[str]]:
        """Return the exit code of verify, and the kinds of what it found."""
        report = self.report(summary)
        kinds = {one["kind"] for one in report["findings"] if one["level"] != "note"}
        self.told.append(f"verify {report['exit']}" + (f" ({', '.join(sorted(kinds))})" if kinds else ""))
        return report["exit"], kinds

    def report(self, summary: str = "app_npu_summary") -> Any:
        """Return what verify says, with the exit code as ``exit``; every damage has a cause and a repair."""
        done = self._python("-m", summary, "--verify", "--json")
        assert done.out, done.err
        report = {**done.json(), "exit": done.code}
        for one in report["findings"]:
            told = one["cause"] and (one["repairs"] or "to repair, " in one["cause"])
            assert one["level"] == "note" or told, one
        return report

    def repair(self, summary: str = "app_npu_summary") -> None:
        """Run the commands that verify names, where all wheels can be found; then it must find nothing."""
        commands = self.report(summary)["repairs"]
        assert commands
        path = os.pathsep.join([str(Path(find_uv() or "uv").parent), os.environ["PATH"]])
        for command in commands:
            self.seeing(*ALL).venv.environment.succeed("sh", "-c", command, PATH=path)
        report = self.report(summary)
        assert (report["exit"], report["findings"]) == (0, []), (commands, report)
        self.told.append("repaired")

    def start(self) -> str:
        """Return what the installed lib says."""
        done = self._python("-c", "import lib; print(lib.Engine().start())")
        assert done.code == 0, done.err
        return done.out.strip()

    def refused_import(self) -> str:
        """Return what Python says where lib cannot be imported."""
        done = self._python("-c", "import lib")
        assert done.code == 1, done.out
        return done.err.rstrip()

    def registered(self) -> dict[str, str]:
        """Return the version by name of the four distributions that are there."""
        found = (path.name.removesuffix(".dist-info").split("-") for path in self.venv.site.glob("*.dist-info"))
        return {name: version for name, version in found if name in {"lib", "lib_npu", "app", "app_npu"}}

    def _python(self, *arguments: str) -> Done:
        """Run the environment's Python, in isolation unless a variable for it was set."""
        isolated = () if any(name.startswith("PYTHON") for name in self.venv.environment.extra) else ("-I",)
        return self.venv.environment.run(self.venv.executable, *isolated, *arguments)


def _reaction(done: Done) -> str:
    if done.code:
        return "refuses"
    return "warns" if any(text in done.err for text in _WARNINGS) else "silent"


def make_cell(installer: str, template: Path, shelf: Shelf, folder: Path, told: list[str]) -> CellEnvironment:
    """Return an installer at work in ``venv`` below a folder, a copy of a virtual environment with it."""
    environment = shelf.environment(folder, *ALL)
    return CellEnvironment(
        venv=copy_installer(installer, template, folder / "venv", environment), shelf=shelf, told=told
    )
