"""Patch folder: a folder that holds ``REPO/REV/NAME.patch`` → the patches for each state of each project."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import filterfalse
from pathlib import Path

from packaging.utils import InvalidName, canonicalize_name

from npu_overlays.errors import Problem, UsageError, listing
from npu_overlays.overlay.bounds import patch_bounds
from npu_overlays.overlay.inputs import is_ignored
from npu_overlays.overlay.layer_content import OverlayFile, file_fault
from npu_overlays.overlay.mails import is_cover, mails

PATCHES = "patch"
SERIES = "series"
_DEPTH = 3
_SUFFIXES = (".patch", ".diff")
# What quilt unpacks.
_UNPACKED = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress, ".lzma": lzma.decompress}
_LAYOUT = f"DIR, or {PATCHES}/ in it, holds REPO/REV/NAME.patch, or REPO/REV/{SERIES} that lists patches"
# What quilt hands on to GNU patch and means something here; fuzz is never used.
_OPTIONS = re.compile(r"(?:(?:-p|--strip)[ =]?(?P<strip>\d)|(?:-F|--fuzz)[ =]?\d+| )*")
# The patch of a file in CRLF has it in its text alone.
_CRLF = re.compile(rb"^(?:diff --git|@@) .*\r$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class InputPatch:
    """One patch of a folder: a file, or one mail of a file."""

    file: OverlayFile  # under the name it gets in an overlay
    strip: int | None = None  # how many folders stand before its paths, as a ``series`` states; None without one
    listed: bool = False  # whether a ``series`` lists it, which may list empty ones


@dataclass(frozen=True, kw_only=True)
class PatchSet:
    """The patches for one state of a project."""

    project: str  # its distribution name, normalised
    # The folder's name for the state.
    revision: str
    folder: Path
    patches: tuple[InputPatch, ...]  # in the order of a ``series``, or of their names
    mended: tuple[tuple[str, str], ...] = ()  # the names of files that were mended, each with how

    @property
    def name(self) -> str:
        """Its name in messages and for --only, ``verl/796871d``."""
        return f"{self.project}/{self.revision}"


@dataclass(frozen=True, kw_only=True)
class PatchFolder:
    """What a folder of patches holds: the sets, the files beside the patches, and the mistakes in its structure."""

    sets: tuple[PatchSet, ...]
    passed_over: tuple[Path, ...]
    problems: tuple[Problem, ...]


def read_layout(folder: Path) -> PatchFolder:
    """Read a folder of patches; raises `UsageError` if it holds none."""
    root = folder / PATCHES if (folder / PATCHES).is_dir() else folder
    if not root.is_dir():
        what = "is no folder" if root.exists() else "there is no such folder"
        raise UsageError(Problem(where=str(folder), what=what, fix=f"name a folder of patches: {_LAYOUT}"))
    reader = _Reader(root)
    folders = filter(Path.is_dir, sorted(root.glob("*/*")))
    sets = tuple(filter(None, map(reader.read, folders)))
    reader.refuse_elsewhere()
    if not sets and not reader.problems:
        raise UsageError(Problem(where=str(root), what="holds no *.patch", fix=f"lay the patches out so: {_LAYOUT}"))
    return PatchFolder(sets=sets, passed_over=tuple(reader.left), problems=tuple(reader.problems))


@dataclass
class _Reader:
    """Reads sets of patches, and collects mistakes and the files that no set has."""

    root: Path
    problems: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        files = filterfalse(Path.is_dir, sorted(self.root.rglob("*")))
        self.left = [path for path in files if not is_ignored(path, self.root)]

    def read(self, folder: Path) -> PatchSet | None:
        """Return the patches in a folder, or None."""
        listed = [path for path in self.left if path.name == SERIES and path.is_relative_to(folder)]
        if len(listed) > 1:
            what = f"is one of several: {listing(str(path.relative_to(folder)) for path in listed)}"
            self.problems.append(
                Problem(where=str(listed[0]), what=what, fix="keep the one that you mean, and delete the others")
            )
        if listed:
            entries = list(self._series(listed[0]))
        else:
            entries = [(path, None) for path in self.left if path.parent == folder and _plain(path).suffix == ".patch"]
        taken = [entry for entry in entries if self._is_sound(entry[0])]
        named = {*listed[:1], *dict(entries)}
        self.left = [path for path in self.left if path not in named]
        if not entries:
            return None
        try:
            canonicalize_name(folder.parent.name, validate=True)
        except InvalidName:
            fix = "call the folder of a project's patches as the package index calls the project"
            where, what = f"{folder.parent.name}/", "is no name of a project"
            self.problems.append(Problem(where=where, what=what, fix=fix))
        return _patch_set(folder, taken, listed=bool(listed))

    def refuse_elsewhere(self) -> None:
        """Note the patches that lie where no set has them."""
        for path in self.left:
            parts = path.relative_to(self.root).parts
            has_series = len(parts) >= _DEPTH and any(self.root.joinpath(*parts[:2]).rglob(SERIES))
            if _plain(path).suffix == ".patch" and not has_series:
                what = "lies outside of the folders REPO/REV that hold patches"
                self.problems.append(Problem(where=str(path), what=what, fix=f"move it: {_LAYOUT}"))

    def _series(self, series: Path) -> Iterator[tuple[Path, int | None]]:
        """Yield the patches that a quilt series lists, and how many folders stand before their paths."""
        seen: set[str] = set()
        for number, line in enumerate(series.read_text("utf-8-sig", "replace").splitlines(), 1):
            name, _, options = " ".join(re.sub(r"(?:^|\s)#.*", "", line).split()).partition(" ")
            where, known = f"{series}:{number}", _OPTIONS.fullmatch(options)
            if not name:
                continue
            if name in seen:
                self.problems.append(Problem(where=where, what=f"lists {name} twice", fix="delete one of the lines"))
            elif not known:
                what = f"gives {name} {options}, and only -pN is known"
                backwards = re.search(r"-R\b|--reverse", options)
                fix = "write the patch the other way round, with git diff -R" if backwards else "delete that option"
                self.problems.append(Problem(where=where, what=what, fix=fix))
            elif not (series.parent / name).exists():
                self.problems.append(
                    Problem(where=where, what=f"there is no {name}", fix="delete the line, or add the file")
                )
            else:
                yield series.parent / name, int(known["strip"] or 1)
            seen.add(name)

    def _is_sound(self, path: Path) -> bool:
        fault = file_fault(path, self.root)
        if fault is None:
            try:
                _unpacked(path)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                fault = f"cannot be unpacked: {error}", "unpack it, and list it without that ending"
        if fault:
            self.problems.append(Problem(where=str(path), what=fault[0], fix=fault[1]))
        return fault is None


def chosen(sets: Sequence[PatchSet], only: Iterable[str]) -> tuple[PatchSet, ...]:
    """Return the sets that are meant: by ``REPO`` or ``REPO/REV``, or all; raises `UsageError` for an unknown name."""
    names = dict.fromkeys(only)
    known: dict[str, None] = {}
    for one in sets:
        known |= {one.project: None, one.name: None}
    problems: list[Problem] = []
    for name in names:
        if name not in known:
            what, fix = "there are no such patches", f"name one of {listing(known)}"
            options = ((name, sets[0].project),)
            problems.append(Problem(where=f"--only {name}", what=what, fix=fix, options=options))
    UsageError.raise_for(problems)
    return tuple(one for one in sets if not names or one.project in names or one.name in names)


def _patch_set(folder: Path, entries: Iterable[tuple[Path, int | None]], *, listed: bool) -> PatchSet:
    mended: list[tuple[str, str]] = []
    found: list[InputPatch] = []
    for path, strip in entries:
        content = _mended(path, mended)
        if is_cover(content):
            mended.append((path.name, "introduces a series, and was passed over"))
            continue
        several = mails(content)
        name = _plain(path)
        stem = name.stem if name.suffix in _SUFFIXES else name.name
        for number, mail, lines in several:
            label = f"{stem}-{number:0{len(str(several[-1].number))}}" if number else stem
            file = OverlayFile(
                layer="",
                path=f"{label}.patch",
                file=f"{path}#{number}" if number else str(path),
                content=mail,
                bounds=patch_bounds(mail),
                mail=number,
                lines=lines,
            )
            found.append(InputPatch(file=file, strip=strip, listed=listed))
    return PatchSet(
        project=canonicalize_name(folder.parent.name),
        revision=folder.name,
        folder=folder,
        patches=tuple(_in_order(found)),
        mended=tuple(mended),
    )


def _plain(path: Path) -> Path:
    """Return a path without the ending of a compressed file."""
    return path.with_suffix("") if path.suffix in _UNPACKED else path


def _unpacked(path: Path) -> bytes:
    return _UNPACKED.get(path.suffix, bytes)(path.read_bytes())


def _mended(path: Path, mended: list[tuple[str, str]]) -> bytes:
    """Return the content of a patch in UTF-8, with LF behind every line, and note what was converted."""
    content = _unpacked(path).removeprefix(codecs.BOM_UTF8)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16", "replace").encode()
        mended.append((path.name, "was in UTF-16, and was converted to UTF-8"))
    if _CRLF.search(content):
        content = content.replace(b"\r\n", b"\n")
        mended.append((path.name, "was in CRLF, and was converted to LF"))
    # Git reads no patch without its last line end, which editors and web pages lose.
    if content and not content.endswith(b"\n"):
        content += b"\n"
        mended.append((path.name, "ended in the middle of a line, and was given its end"))
    return content


def _in_order(patches: Sequence[InputPatch]) -> Iterator[InputPatch]:
    """Yield patches under names that sort in their order."""
    names = [one.file.path for one in patches]
    width = len(str(len(names)))
    for number, one in enumerate(patches, 1):
        name = one.file.path if names == sorted(set(names)) else f"{number:0{width}}-{one.file.path}"
        yield replace(one, file=replace(one.file, path=name))
