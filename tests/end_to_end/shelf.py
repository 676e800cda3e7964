"""The shelf: what a package index and a folder of our wheels hold for the install matrix, in two revisions."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from support.environment import Environment
from support.overlays import edit
from support.wheels import write_wheel

from .sample import ARCHIVE, LIB_ENTRY_POINTS, Sample

ALL = ("index", "revision-1", "revision-2")
NEWER = "1.3.0"
# What requires upstream by its name: any, upstream's newer release, upstream's extras.
CONSUMERS = {
    "consumer": "Requires-Dist: lib>=1.0\nRequires-Dist: lib[fast]<2\n",
    "modern": f"Requires-Dist: lib>={NEWER}\n",
    "whole": "Requires-Dist: lib[all]>=1.0\n",
}


@dataclass(frozen=True, kw_only=True)
class Shelf:
    """Folders of wheels, as installers find them.

    Args:
        folder: holds ``index`` (what is not ours), ``revision-1`` and ``revision-2``.
        lib: version of lib-npu, and of its companion, in revision 1.
        app: likewise of app-npu.
    """

    folder: Path
    lib: str
    app: str

    @property
    def release(self) -> Path:
        """Upstream's own release of the version that the overlay is made for."""
        return self.folder / "index" / ARCHIVE

    def version(self, project: str, revision: int) -> str:
        """Return the version of a project's two wheels in a revision."""
        return str(getattr(self, project)).replace("+npu.1.", f"+npu.{revision}.")

    def pinned(self, name: str, revision: int = 1) -> str:
        """Return the requirement on a distribution of ours in a revision."""
        return f"{name}=={self.version(name.partition('-')[0], revision)}"

    def wheels(self, revision: int = 1) -> list[Path]:
        """Return our wheels of a revision."""
        return sorted((self.folder / f"revision-{revision}").glob("*.whl"))

    def links(self, *names: str) -> dict[str, str]:
        """Return the variables by which installers find what the named folders hold."""
        folders = [str(self.folder / name) for name in names]
        return {"PIP_FIND_LINKS": " ".join(folders), "UV_FIND_LINKS": ",".join(folders)}

    def environment(self, folder: Path, *names: str) -> Environment:
        """Return a clean environment that finds what the named folders hold."""
        return Environment(folder=folder, extra=self.links(*names))


def fill_shelf(folder: Path, locked: Sample, wheels: Path) -> None:
    """Write everything; `wheels` are those of revision 1."""
    shutil.copytree(wheels, folder / "revision-1")
    _build_second(locked, folder)
    index = folder / "index"
    shutil.copytree(locked.environment.index or Path(), index)
    write_wheel(index, "packaging", "24.0", {"packaging/__init__.py": b""})
    write_wheel(index, "fastmath", "1.5", {"fastmath.py": b""}, metadata="Provides-Extra: gpu\n")
    write_wheel(index, "anymath", "1.0", {"anymath.py": b""})
    for name, requires in CONSUMERS.items():
        write_wheel(index, name, "1.0", {f"{name}.py": b"import lib\n"}, metadata=requires)
    newer = {
        "lib/__init__.py": b"from lib.core import Engine\n",
        "lib/core.py": b'class Engine:\n    def start(self):\n        return "newer"\n',
        "lib/fresh.py": b"",
        f"lib-{NEWER}.dist-info/entry_points.txt": LIB_ENTRY_POINTS.encode(),
    }
    extras = "Provides-Extra: fast\nProvides-Extra: all\n"
    write_wheel(index, "lib", NEWER, newer, metadata=extras)


def _build_second(locked: Sample, folder: Path) -> None:
    """Build revision 2, which adds a file, drops one and changes one."""
    sample = locked.copy(folder / "second")
    sample = replace(sample, environment=replace(sample.environment, index=locked.environment.index))
    tree = sample.lib_overlay / "tree/src/lib"
    (tree / "npu.py").rename(tree / "second.py")
    edit(tree / "core.py", '"npu+"', '"npu2+"')
    sample.environment.ok("lock", "--all", "--overlays", sample.overlays)
    sample.environment.ok("revise", "--all", "--why", "Another file.", "--overlays", sample.overlays)
    out = folder / "revision-2"
    sample.environment.ok("build", "--overlays", sample.overlays, "--out", out, "--source", "git")
    shutil.rmtree(sample.folder)


def tree_of(folder: Path) -> set[str]:
    """Return every file below a folder that is not installers' own; `__pycache__` counts by what is in it."""
    found = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()
    }
    return {path for path in found if not _of_installer(path)}


def _of_installer(path: str) -> bool:
    parts = path.split("/")
    return path == ".lock" or any(part == "pip" or part.startswith("pip-") for part in parts)
