"""Layout: a folder of patches, ``REPO/REV/NAME.patch`` → which patches there are for which state of which project."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name

from npu_overlays.errors import Problem, UsageError, listing
from npu_overlays.overlay.bounds import patch_bounds
from npu_overlays.overlay.inputs import is_ignored
from npu_overlays.overlay.said import OverlayFile
from npu_overlays.paths import unsafe

PATCHES = "patch"
_DEPTH = 3
_LAYOUT = f"DIR, or {PATCHES}/ in it, holds REPO/REV/NAME.patch"


@dataclass(frozen=True, kw_only=True)
class PatchSet:
    """The patches for one state of a project.

    Args:
        project: its distribution name, normalised.
        revision: what the folder calls the state.
        folder: where the patches lie.
        patches: they, in the order of their names, in which they are applied.
        mended: those of them that ended in the middle of a line, and were given its end.
    """

    project: str
    revision: str
    folder: Path
    patches: tuple[OverlayFile, ...]
    mended: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in messages and by --only, ``verl/796871d``."""
        return f"{self.project}/{self.revision}"


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a folder of patches holds: the sets, and the files beside the patches."""

    sets: tuple[PatchSet, ...]
    passed_over: tuple[Path, ...]


def read_layout(folder: Path) -> Layout:
    """Read a folder of patches; raises `UsageError` with everything that is not where it has to be."""
    root = folder / PATCHES if (folder / PATCHES).is_dir() else folder
    if not root.is_dir():
        what = "is no folder" if root.exists() else "there is no such folder"
        raise UsageError(Problem(where=str(folder), what=what, fix=f"name a folder of patches: {_LAYOUT}"))
    files = [path for path in sorted(root.rglob("*")) if not path.is_dir() and not is_ignored(path, root)]
    patches = [path for path in files if path.suffix == ".patch"]
    problems = list(_problems(root, patches))
    if not patches:
        problems.append(Problem(where=str(root), what="holds no *.patch", fix=_LAYOUT))
    if problems:
        raise UsageError(problems)
    folders = dict.fromkeys(path.parent for path in patches)
    return Layout(
        sets=tuple(_read(one, [path for path in patches if path.parent == one]) for one in folders),
        passed_over=tuple(path for path in files if path.suffix != ".patch"),
    )


def chosen(sets: Sequence[PatchSet], only: Iterable[str]) -> tuple[PatchSet, ...]:
    """Return the sets that are meant: by ``REPO`` or ``REPO/REV``, or all; raises `UsageError` for an unknown name."""
    names = list(only)
    known = {name: [one for one in sets if name in (one.project, one.name)] for name in names}
    unknown = [name for name, found in known.items() if not found]
    if unknown:
        what = "there are no such patches"
        fix = f"one of: {listing(dict.fromkeys(name for one in sets for name in (one.project, one.name)))}"
        raise UsageError(
            [
                Problem(where=f"--only {name}", what=what, fix=fix, options=((name, sets[0].project),))
                for name in unknown
            ]
        )
    return tuple(one for one in sets if not names or one.project in names or one.name in names)


def _problems(root: Path, patches: Iterable[Path]) -> Iterator[Problem]:
    for path in patches:
        relative = path.relative_to(root)
        if len(relative.parts) != _DEPTH:
            yield Problem(where=str(path), what="lies elsewhere than the patches of one state", fix=_LAYOUT)
        elif path.is_symlink() or not path.is_file():
            yield Problem(where=str(path), what="is not a regular file", fix="put the file itself there")
        elif unsafe(relative.as_posix()):
            what = "has a name with a backslash, or with characters that cannot be shown"
            yield Problem(where=str(path), what=what, fix="rename it")
    yield from _no_names({path.relative_to(root).parts[0] for path in patches})


def _no_names(folders: Iterable[str]) -> Iterator[Problem]:
    for name in sorted(folders):
        try:
            canonicalize_name(name, validate=True)
        except InvalidName:
            fix = "call the folder of a project's patches as the package index calls the project"
            yield Problem(where=f"{name}/", what="is no name of a project", fix=fix)


def _read(folder: Path, patches: Iterable[Path]) -> PatchSet:
    contents = {path: path.read_bytes() for path in patches}
    # Git reads no patch without its last line end, which editors and web pages lose.
    mended = {path: content for path, content in contents.items() if content and not content.endswith(b"\n")}
    contents |= {path: content + b"\n" for path, content in mended.items()}
    return PatchSet(
        project=canonicalize_name(folder.parent.name),
        revision=folder.name,
        folder=folder,
        patches=tuple(_file(path, content) for path, content in contents.items()),
        mended=tuple(str(path) for path in mended),
    )


def _file(path: Path, content: bytes) -> OverlayFile:
    return OverlayFile(layer="", path=path.name, file=str(path), content=content, bounds=patch_bounds(content))
