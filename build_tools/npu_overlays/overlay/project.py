"""Projects: what an overlay says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from npu_overlays.pin import Pin

CONFIG_FILE = "pyproject.toml"
STACKS_FILE = "stacks.toml"
# In an sdist, which is one folder, the overlays it depends on lie below it under this name.
BUNDLED = "_overlays"


@dataclass(frozen=True, kw_only=True)
class TextEdit:
    """One counted substitution in files that are not Python."""

    paths: tuple[str, ...]
    find: str
    replace: str
    count: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """An overlay project.

    Args:
        name: ``<project>@<first seven digits of the commit>``.
        folder: where it lies.
        distribution: name of the wheel it builds, ``verl-npu``.
        revision: counts releases of this overlay on this pin, from 1.
        pin: the upstream commit.
        extends: name of the overlay whose files it takes over, or empty.
        drop: what of those it leaves out: ``path`` or ``path:Symbol``.
        license_files: repository paths of upstream's licence and notice.
        dependencies: requirements added to upstream's.
        edits: substitutions in non-Python files.
    """

    name: str
    folder: Path
    distribution: str
    revision: int
    pin: Pin
    extends: str = ""
    drop: tuple[str, ...] = ()
    license_files: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    edits: tuple[TextEdit, ...] = ()

    @property
    def summary_package(self) -> str:
        """Import name of the summary package in its wheel."""
        return f"{self.pin.project.replace('-', '_')}_npu_summary"

    @property
    def root(self) -> Path:
        """The folder in which the overlays it refers to lie."""
        bundled = self.folder / BUNDLED
        return bundled if bundled.is_dir() else self.folder.parent

    def version(self, upstream: str) -> str:
        """Return the wheel's version, given upstream's: a local version that names revision and commit."""
        separator = "." if "+" in upstream else "+"
        return f"{upstream}{separator}npu.{self.revision}.g{self.pin.short}"


def is_plain_path(path: str) -> bool:
    """Return whether a text is a relative POSIX path that stays inside its root, and can be shown in one line."""
    plain = PurePosixPath(path)
    outside = plain.is_absolute() or {"..", ".git"} & set(plain.parts)
    return bool(plain.parts) and str(plain) == path and path.isprintable() and "\\" not in path and not outside
