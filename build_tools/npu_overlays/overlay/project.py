"""Projects: what an overlay says of itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from npu_overlays.pin import Pin
from npu_overlays.tree import Origin, OriginKind

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
        folder: where it lies.
        suffix: what its wheel's name adds to upstream's: ``npu`` for ``verl-npu``.
        purpose: what the changes are for, in the words users read: ``NPU``; empty to leave it out.
        label: tells overlays on one pin apart; part of the name and of the version.
        revision: counts releases of this overlay on this pin, from 1.
        doctor: whether its wheel has an extra of that name, with which npu-doctor is installed.
        pin: the upstream commit or release.
        extends: name of the overlay whose files it takes over, or empty.
        drop: what of those it leaves out: ``path`` or ``path:Symbol``.
        license_files: repository paths of upstream's licence and notice.
        dependencies: requirements added to upstream's.
        not_built: globs of what upstream's build may compile or install elsewhere, and this wheel ships as it is or
            not at all.
        edits: substitutions in non-Python files.
    """

    folder: Path
    suffix: str
    purpose: str = ""
    label: str = ""
    revision: int = 1
    doctor: bool = False
    pin: Pin
    extends: str = ""
    drop: tuple[str, ...] = ()
    license_files: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    not_built: tuple[str, ...] = ()
    edits: tuple[TextEdit, ...] = ()

    @property
    def name(self) -> str:
        """``<project>@<first seven digits of the commit, or version>``, and the label where there is one."""
        return f"{self.pin.project}@{self.pin.short}{f'-{self.label}' if self.label else ''}"

    @property
    def distribution(self) -> str:
        """Name of the wheel it builds, ``verl-npu``."""
        return f"{self.pin.project}-{self.suffix}"

    @property
    def summary_package(self) -> str:
        """Import name of the summary package in its wheel."""
        return f"{self.distribution.replace('-', '_')}_summary"

    @property
    def root(self) -> Path:
        """The folder in which the overlays it refers to lie."""
        bundled = self.folder / BUNDLED
        return bundled if bundled.is_dir() else self.folder.parent

    def version(self, upstream: str, origin: Origin) -> str:
        """Return the wheel's version, given upstream's: a local version that says what was changed where.

        An archive can lack files of the commit, so what is made from it has another version: ``a`` and its digest
        instead of ``g`` and the commit. Of the two, installers prefer the commit's.
        """
        source = f"g{origin.commit[:7]}" if origin.kind == "git" else f"a{origin.sha256[:7]}"
        parts = [self.suffix, str(self.revision), *filter(None, [self.label]), source]
        return f"{upstream}{'.' if '+' in upstream else '+'}{'.'.join(parts)}"


def source_of(version: str) -> OriginKind | None:
    """Return which kind of source a version of ours says its bytes came from; None where it says nothing."""
    found = re.search(r"[+.](g|a)[0-9a-f]{7}$", version)
    kinds: dict[str, OriginKind] = {"g": "git", "a": "archive"}
    return kinds[found[1]] if found else None


def is_plain_path(path: str) -> bool:
    """Return whether a text is a relative POSIX path that stays inside its root, and can be shown in one line."""
    plain = PurePosixPath(path)
    outside = plain.is_absolute() or {"..", ".git"} & set(plain.parts)
    return bool(plain.parts) and str(plain) == path and path.isprintable() and "\\" not in path and not outside
