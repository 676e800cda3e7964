"""Findings: what is not as it was built, its likely cause, and the commands that repair it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from functools import cache

from ..frozen import Frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    # damage: not intact; unknown: could not be told; note: worth knowing, and no reason to distrust the installation.
    Level = Literal["damage", "unknown", "note"]
    # `docs/verify.md` explains each, in this order.
    Kind = (
        Literal["modified", "missing", "added", "not a file", "unreadable", "imported instead", "stale bytecode"]
        | Literal["rejected patch", "incumbent import", "incumbent plugin", "startup hook"]
        | Literal["overwritten", "interrupted uninstall"]
        | Literal["companion missing", "companion replaced", "companion twice", "companion alone", "companion damaged"]
        | Literal["pair missing", "pair of another build", "wrong tag", "another platform"]
        | Literal["unregistered", "registered twice", "registered as another build"]
        | Literal["metadata damaged", "manifest damaged", "summary damaged", "shadowed", "second copy"]
    )

_REMOVE, _UNINSTALL, _COMPANION, _WHEEL = range(4)  # the order in which commands are run
_PRINTABLE = {chr(byte) for byte in range(ord(" "), ord("~") + 1)} - {"'", "\\"}


class Repair(Frozen):
    """One command."""

    rank: int  # its place among the repairs of a report: removals, then uninstalls, companions, wheels
    command: str  # for a POSIX shell


class Finding(Frozen):
    """One thing found; in JSON it has these fields, in this order."""

    kind: Kind
    level: Level
    distribution: str  # the patched one
    what: str  # one line, without the paths
    cause: str  # the likely one; empty where `what` says it
    paths: tuple[str, ...]  # relative to the root of the installation, or absolute
    repairs: tuple[Repair, ...]  # in the order they are to be run; none where a person has to decide


class Installer(Frozen):
    """Writes commands for the tool that made an installation."""

    root: str  # the folder or zip file the distribution lies in
    name: str  # the patched distribution
    version: str  # the one built; empty where unknown
    tool: str  # ``uv``; anything else counts as ``pip``

    def reinstall(self) -> tuple[Repair, ...]:
        """Lay the wheel's files down again."""
        return (Repair(rank=_WHEEL, command=self._install(self.name)),)

    def companion(self, name: str) -> tuple[Repair, ...]:
        """Install the companion; upstream's copy, where there is one, goes with its files, so ours follow."""
        return (Repair(rank=_COMPANION, command=self._install(name)), *self.reinstall())

    def other(self, name: str, versions: Iterable[str]) -> tuple[Repair, ...]:
        """Install another patched distribution with its companion, in the first of these versions that is available."""
        wanted = tuple(versions)
        companion = self._install(name.rpartition("-")[0], *wanted)
        return (Repair(rank=_COMPANION, command=companion), Repair(rank=_WHEEL, command=self._install(name, *wanted)))

    def uninstall(self, name: str) -> tuple[Repair, ...]:
        """Uninstall a distribution; no installer does that in a folder that has to be named."""
        return () if self.targeted else (Repair(rank=_UNINSTALL, command=f"{self._tool('uninstall')} {name}"),)

    def remove(self, paths: Iterable[str]) -> tuple[Repair, ...]:
        """Delete files and folders, given relative to the root or absolute."""
        if os.path.isfile(self.root):
            return self.reinstall()
        repairs = []
        for path in paths:
            repairs.append(Repair(rank=_REMOVE, command=f"rm -rf {_quoted(os.path.join(self.root, path))}"))
        return tuple(repairs)

    @property
    def targeted(self) -> bool:
        """Whether installers put things into the root only when it is named."""
        return not _is_own(self.root) and not _is_users(self.root)

    def _install(self, name: str, *versions: str) -> str:
        """Return the command that installs a distribution: the first available version, or the one built.

        uv links installed files to its cache: one that was edited in place is damaged there too, and would come
        back from there, here and into every new environment.
        """
        wanted = [f"{name}=={version}" for version in versions or (self.version,) if version] or [name]
        if os.path.isfile(self.root):
            return f"# make {self.root} again, with the wheel {' or '.join(wanted)}"
        clean, again = "", "--force-reinstall"
        if self.tool == "uv":
            clean, again = f"uv cache clean {name} && ", f"--reinstall-package {name}"
        place = f" --upgrade --target {_quoted(self.root)}" if self.targeted else ""
        if _is_users(self.root) and not _is_own(self.root):
            place = " --user"
        install = f"{self._tool('install')}{place} {again} --no-deps"
        return clean + " || ".join(f"{install} {one}" for one in wanted)

    def _tool(self, action: str) -> str:
        python = _quoted(sys.executable or "python")
        if self.tool == "uv":
            return f"uv pip {action} --python {python}"
        pip = f"{python} -m pip" if _has_pip() else f"pip --python {python}"
        return f"{pip} {action}{' --yes' if action == 'uninstall' else ''}"


def _quoted(text: str) -> str:
    """Return a word of a shell command that a terminal can print; bash and newer sh know `$'...'`."""
    if text.isprintable():
        return shlex.quote(text)
    octal = (chr(byte) if chr(byte) in _PRINTABLE else f"\\{byte:03o}" for byte in os.fsencode(text))
    return f"$'{''.join(octal)}'"


@cache
def _has_pip() -> bool:
    """Return whether this Python can run pip; where it cannot, another's installs into it."""
    import importlib.util

    return importlib.util.find_spec("pip") is not None


@cache
def _is_own(root: str) -> bool:
    """Return whether it is where this Python's packages are installed."""
    import sysconfig

    own = map(sysconfig.get_path, ("purelib", "platlib"))
    return os.path.realpath(root) in map(os.path.realpath, own)


@cache
def _is_users(root: str) -> bool:
    """Return whether it is where ``pip install --user`` puts things."""
    import site

    return os.path.realpath(root) == os.path.realpath(site.getusersitepackages())
