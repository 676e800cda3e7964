"""Repairs: an installation and what is wrong with it in, the commands that put it right out."""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass

from .findings import Repair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_REMOVE, _UNINSTALL, _COMPANION, _WHEEL = range(4)


@dataclass(frozen=True, kw_only=True)
class Installer:
    """Writes commands for the tool that made an installation.

    Args:
        root: the folder or zip file the distribution lies in.
        name: the patched distribution.
        version: the version built; empty where unknown.
        tool: ``pip`` or ``uv``.
    """

    root: str
    name: str
    version: str
    tool: str

    @classmethod
    def of(cls, root: str, name: str, version: str, installer: str) -> Installer:
        """Return the installer of a distribution whose INSTALLER file says `installer`."""
        return cls(root=root, name=name, version=version, tool="uv" if installer == "uv" else "pip")

    def reinstall(self) -> tuple[Repair, ...]:
        """Lay the wheel's files down again."""
        return (Repair(rank=_WHEEL, command=self._install(self.name)),)

    def companion(self, name: str) -> tuple[Repair, ...]:
        """Install the companion; upstream's copy, where there is one, goes with its files, so ours follow."""
        return (Repair(rank=_COMPANION, command=self._install(name)), *self.reinstall())

    def other(self, requirement: str) -> tuple[Repair, ...]:
        """Install another patched distribution, given as ``name==version``, with its companion."""
        name, _, version = requirement.partition("==")
        companion = Repair(rank=_COMPANION, command=self._install(name.removesuffix("-npu"), version))
        return (companion, Repair(rank=_WHEEL, command=self._install(name, version)))

    def uninstall(self, name: str) -> tuple[Repair, ...]:
        """Uninstall a distribution."""
        if not _is_site(self.root):
            return ()
        return (Repair(rank=_UNINSTALL, command=f"{self._tool('uninstall')} {name}"),)

    def remove(self, paths: Iterable[str]) -> tuple[Repair, ...]:
        """Delete files and folders, given relative to the root or absolute."""
        if os.path.isfile(self.root):  # noqa: PTH113 - pathlib is not imported here
            return self.reinstall()
        absolute = [os.path.join(self.root, path) for path in paths]  # noqa: PTH118 - as above
        return tuple(Repair(rank=_REMOVE, command=f"rm -rf {shlex.quote(path)}") for path in absolute)

    def _install(self, name: str, version: str = "") -> str:
        version = version or self.version
        wanted = f"{name}=={version}" if version else name
        if os.path.isfile(self.root):  # noqa: PTH113 - as above
            return f"# make {self.root} again, with the wheel {wanted}"
        again = f"--reinstall-package {name}" if self.tool == "uv" else "--force-reinstall"
        target = "" if _is_site(self.root) else f" --upgrade --target {shlex.quote(self.root)}"
        return f"{self._tool('install')}{target} {again} --no-deps {wanted}"

    def _tool(self, action: str) -> str:
        python = shlex.quote(sys.executable or "python")
        if self.tool == "uv":
            return f"uv pip {action} --python {python}"
        return f"{python} -m pip {action}{' --yes' if action == 'uninstall' else ''}"


def _is_site(root: str) -> bool:
    """Return whether installers put things there by themselves."""
    import site  # noqa: PLC0415 - only needed where something is wrong
    import sysconfig  # noqa: PLC0415 - likewise

    own = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()}
    return os.path.realpath(root) in {os.path.realpath(one) for one in own}
