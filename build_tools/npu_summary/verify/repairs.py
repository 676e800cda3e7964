"""Repairs: an installation and what is wrong with it → the commands that put it right."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from functools import cache

from ..frozen import Frozen
from .findings import Repair

_REMOVE, _UNINSTALL, _COMPANION, _WHEEL = range(4)
_PLAIN = {chr(byte) for byte in range(ord(" "), ord("~") + 1)} - {"'", "\\"}


class Installer(Frozen):
    """Writes commands for the tool that made an installation.

    Args:
        root: the folder or zip file the distribution lies in.
        name: the patched distribution.
        version: the version built; empty where unknown.
        tool: what made it; whatever is not ``uv`` is taken for ``pip``.
    """

    root: str
    name: str
    version: str
    tool: str

    def reinstall(self) -> tuple[Repair, ...]:
        """Lay the wheel's files down again."""
        return (Repair(rank=_WHEEL, command=self._install(self.name)),)

    def companion(self, name: str) -> tuple[Repair, ...]:
        """Install the companion; upstream's copy, where there is one, goes with its files, so ours follow."""
        return (Repair(rank=_COMPANION, command=self._install(name)), *self.reinstall())

    def other(self, name: str, versions: Iterable[str]) -> tuple[Repair, ...]:
        """Install another patched distribution with its companion, in the first of these versions that can be had."""
        wanted = tuple(versions)
        companion = self._install(name.rpartition("-")[0], *wanted)
        return (Repair(rank=_COMPANION, command=companion), Repair(rank=_WHEEL, command=self._install(name, *wanted)))

    def uninstall(self, name: str) -> tuple[Repair, ...]:
        """Uninstall a distribution."""
        if self.targeted:
            return ()
        return (Repair(rank=_UNINSTALL, command=f"{self._tool('uninstall')} {name}"),)

    def remove(self, paths: Iterable[str]) -> tuple[Repair, ...]:
        """Delete files and folders, given relative to the root or absolute."""
        if self._zipped:
            return self.reinstall()
        absolute = [os.path.join(self.root, path) for path in paths]
        return tuple(Repair(rank=_REMOVE, command=f"rm -rf {_quoted(path)}") for path in absolute)

    @property
    def targeted(self) -> bool:
        """Whether installers put things into the root only when it is named."""
        return not _is_own(self.root) and not _is_users(self.root)

    @property
    def _zipped(self) -> bool:
        return os.path.isfile(self.root)

    def _install(self, name: str, *versions: str) -> str:
        """Return what lays a distribution's files down, of the first of some versions that can be had, or of our own.

        uv links installed files to its cache: one that was edited in place is damaged there too, and would come
        back from there, here and into every new environment.
        """
        wanted = [f"{name}=={version}" for version in versions or (self.version,) if version] or [name]
        if self._zipped:
            return f"# make {self.root} again, with the wheel {' or '.join(wanted)}"
        if self.tool == "uv":
            clean, again = f"uv cache clean {name} && ", f"--reinstall-package {name}"
        else:
            clean, again = "", "--force-reinstall"
        install = f"{self._tool('install')}{self._place()} {again} --no-deps"
        return clean + " || ".join(f"{install} {one}" for one in wanted)

    def _place(self) -> str:
        """Return the option that makes an installer put things into the root."""
        if self.targeted:
            return f" --upgrade --target {_quoted(self.root)}"
        return "" if _is_own(self.root) else " --user"

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
    return f"$'{''.join(map(_octal, os.fsencode(text)))}'"


def _octal(byte: int) -> str:
    """Return a byte as it stands in `$'...'`."""
    return chr(byte) if chr(byte) in _PLAIN else f"\\{byte:03o}"


@cache
def _has_pip() -> bool:
    """Return whether this Python can run pip; where it cannot, another's installs into it."""
    import importlib.util

    return importlib.util.find_spec("pip") is not None


@cache
def _is_own(root: str) -> bool:
    """Return whether it is where this Python's packages are installed."""
    import sysconfig

    own = (sysconfig.get_path(name) for name in ("purelib", "platlib"))
    return os.path.realpath(root) in map(os.path.realpath, own)


@cache
def _is_users(root: str) -> bool:
    """Return whether it is where ``pip install --user`` puts things."""
    import site

    return os.path.realpath(root) == os.path.realpath(site.getusersitepackages())
