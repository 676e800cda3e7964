"""Layer content: layers → all their operations, files, patches and settings, for every version of upstream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from npu_overlays.errors import Problem, collected, nearest
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import ALWAYS, Bounds, patch_bounds
from npu_overlays.overlay.inputs import CONTENT_FOLDERS, is_ignored, is_left_over
from npu_overlays.overlay.mails import mails
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import NO_FORMS, FormTargets, Operation
from npu_overlays.overlay.parser.vocabulary import uses_markers
from npu_overlays.overlay.project import Assigned, Drop, FileSettings, Layer, TextEdit
from npu_overlays.paths import unsafe

_NO_REASON = "the file gives no reason"
_COMMENT = re.compile(r"#|//|/\*|<!--|;")
_PYTHON_COMMENT = re.compile(r"""#|[rR]?(\"{3}|'{3}|"(?=[^"]+"$)|'(?=[^']+'$))""")
_BLOCKS = ("/*", "<!--", *(prefix + quotes for prefix in ("", "r", "R") for quotes in ('"""', "'''")))
_CODING = re.compile(r"-\*-|coding[:=]")


@dataclass(frozen=True, kw_only=True)
class OverlayFile:
    """One file of a layer."""

    layer: str  # name of the layer it lies in
    path: str  # for `tree` the repository path it stands for, otherwise its name, with ``#2`` for the second mail in it
    file: str  # where it lies, below the layer's name, for messages
    content: bytes  # its bytes
    executable: bool = False  # whether it is executable
    bounds: Bounds = ALWAYS  # to which versions of upstream it applies
    accept: tuple[Acceptance, ...] = ()  # of an added file, the dangers in it that its layer lets stand
    mail: int = 0  # of a patch, which of the mails in its file it is; 0 for the only one
    # of a patch, the line of its file that each line of its content is; empty where they are the same
    lines: tuple[int, ...] = field(default=(), repr=False, compare=False)

    @property
    def holder(self) -> str:
        """`file` without the number of a mail: the file that holds it."""
        return self.file.removesuffix(f"#{self.mail}")

    def at(self, line: int) -> str:
        """Return a line of its content for messages: the file that holds it, and the line there."""
        return f"{self.holder}:{self.line(line)}"

    def line(self, line: int) -> int:
        """Return the line of its file for a line of its content."""
        return self.lines[min(line, len(self.lines)) - 1] if self.lines else line

    @property
    def names(self) -> tuple[str, ...]:
        """The names for a `drop`: its path, and that of its mailbox."""
        return tuple(dict.fromkeys((self.path, self.path.removesuffix(f"#{self.mail}"))))


@dataclass(frozen=True, kw_only=True)
class SourcedEdit:
    """A substitution in a non-Python file, its layer, and its place there."""

    layer: str
    path: str
    edit: TextEdit
    where: str

    @property
    def bounds(self) -> Bounds:
        """The versions of upstream that it applies to."""
        return self.edit.bounds


@dataclass(frozen=True, kw_only=True)
class LayerContent:
    """The content of layers for all versions of upstream, and their mistakes."""

    operations: tuple[Operation, ...]
    files: tuple[OverlayFile, ...]
    patches: tuple[OverlayFile, ...]
    edits: tuple[SourcedEdit, ...]
    drops: tuple[tuple[Layer, Drop], ...]
    assigned: tuple[tuple[Layer, Assigned], ...]
    problems: tuple[Problem, ...]

    def bounded(self) -> Iterator[tuple[str, str, Bounds]]:
        """Yield the layer, the place and the bounds of everything that applies to some versions only, each once."""
        places: list[tuple[str, str, Bounds]] = []
        for operation in self.operations:
            places.append((operation.layer, operation.where, operation.bounds))
        for edit in self.edits:
            places.append((edit.layer, edit.where, edit.bounds))
        for file in (*self.files, *self.patches):
            places.append((file.layer, file.file, file.bounds))
        for layer, drop in self.drops:
            places.append((layer.name, layer.where(f"drop ({drop.name})"), drop.bounds))
        for layer, assigned in self.assigned:
            places.append((layer.name, layer.where(f"assigned ({assigned.when})"), assigned.bounds))
        for place in dict.fromkeys(places):
            if place[2]:
                yield place


def read_layers(
    chain: Iterable[Layer],
    passed_over: Callable[[OverlayFile], bool] = lambda _: False,
    forms: FormTargets = NO_FORMS,
) -> LayerContent:
    """Return the content of layers.

    Args:
        chain: the layers, lowest first.
        passed_over: returns whether mistakes in a file do not matter, because all of it is dropped.
        forms: the targets of operations that name a model.
    """
    layers = tuple(chain)
    problems = list(_misspelt(layers))
    merged: list[OverlayFile] = []
    plain: list[OverlayFile] = []
    for file in _files(layers, "tree", problems):
        is_merged = file.path.endswith(".py") and uses_markers(file.content)
        (merged if is_merged else plain).append(file)
    shared = _files(layers, "shared", problems)
    patches = _files(layers, "patches", problems)
    edits: list[SourcedEdit] = []
    drops: list[tuple[Layer, Drop]] = []
    assigned: list[tuple[Layer, Assigned]] = []
    for layer in layers:
        edits += _edits(layer)
        drops += ((layer, drop) for drop in layer.drops)
        assigned += ((layer, one) for one in layer.assigned)
    return LayerContent(
        operations=_operations(merged, shared, passed_over, problems, forms),
        files=tuple(_with_settings(layers, plain, problems)),
        patches=tuple(patches),
        edits=tuple(edits),
        drops=tuple(drops),
        assigned=tuple(assigned),
        problems=tuple(problems),
    )


def _edits(layer: Layer) -> Iterator[SourcedEdit]:
    file = layer.settings[0]
    for number, edit in enumerate(layer.edits, 1):
        place = layer.where(f"edit[{number}]").removeprefix(str(layer.folder / file)).removesuffix(f"[{number}]")
        for path in edit.paths:
            yield SourcedEdit(layer=layer.name, path=path, edit=edit, where=f"{layer.label(file)}{place} ({path})")


def _with_settings(layers: Iterable[Layer], files: list[OverlayFile], problems: list[Problem]) -> Iterator[OverlayFile]:
    """Yield added files with their layers' settings for them; notes settings of missing files."""
    settings: dict[tuple[str, str], FileSettings] = {}
    for layer in layers:
        for one in layer.files:
            settings[layer.name, one.path] = one
    for file in files:
        own = settings.pop((file.layer, file.path), FileSettings(path=file.path))
        yield replace(file, bounds=own.bounds, accept=own.accept)
    for layer in layers:
        for number, one in enumerate(layer.files, 1):
            if (layer.name, one.path) in settings:
                what = f"`{one.path}` is no file that this layer adds"
                fix = (
                    f"name a file of {layer.label('tree')} that upstream lacks; for an operation, say it at its marker"
                )
                problems.append(Problem(where=layer.where(f"file[{number}]"), what=what, fix=fix))


def _misspelt(layers: Iterable[Layer]) -> Iterator[Problem]:
    """Yield the folders whose names nearly are those of content folders, and would be left out."""
    for layer in layers:
        for path in sorted(layer.folder.iterdir()):
            close = nearest(path.name.lower(), CONTENT_FOLDERS, cutoff=0.75) if path.is_dir() else ""
            if close and path.name not in CONTENT_FOLDERS:
                what = "is no folder that an overlay reads"
                yield Problem(where=layer.label(path.name), what=what, fix=f"did you mean `{close}`? Rename it")


def _files(layers: Iterable[Layer], kind: str, problems: list[Problem]) -> list[OverlayFile]:
    """Return the files in one content folder of layers; notes invalid ones."""
    found: list[OverlayFile] = []
    for layer in layers:
        root = layer.folder / kind
        if (root.exists() or root.is_symlink()) and not root.is_dir():
            fix = "put the files into a folder of that name, or delete it"
            problems.append(Problem(where=layer.label(kind), what="is not a folder", fix=fix))
        for path in sorted(root.rglob("*")):
            if is_ignored(path, root) or (path.is_dir() and not path.is_symlink()):
                continue
            relative = path.relative_to(root).as_posix()
            label = layer.label(f"{kind}/{relative}")
            if fault := _content_fault(path, root, kind):
                problems.append(Problem(where=label, what=fault[0], fix=fault[1]))
                continue
            executable = bool(path.stat().st_mode & 0o100)
            file = OverlayFile(
                layer=layer.name, path=relative, file=label, content=path.read_bytes(), executable=executable
            )
            if kind == "patches":
                found += _patches(file, problems)
            else:
                found.append(file)
    return found


def file_fault(path: Path, root: Path) -> tuple[str, str] | None:
    """Return why a path below `root` cannot be a shipped file, and what to do; None if it can."""
    if path.is_symlink() or not path.is_file():
        return "is not a regular file", "replace it by the file itself"
    if unsafe(path.relative_to(root).as_posix()):
        # A wheel lists its files in lines, and a terminal obeys what it cannot show.
        return "has a name with a backslash, or with characters that cannot be shown", "rename it"
    return None


def _content_fault(path: Path, root: Path, kind: str) -> tuple[str, str] | None:
    """Return why a path cannot be a file of a content folder, and what to do; None if it can."""
    if fault := file_fault(path, root):
        return fault
    if is_left_over(path, root):
        what = "has a name as an editor or a merge leaves files behind"
        return what, "delete it; if it is meant, give it another name"
    if kind == "shared" and path.suffix != ".py":
        return "shared/ holds Python definitions", "move it to tree/"
    if kind == "patches" and path.suffix != ".patch":
        return "patches/ holds *.patch files", "rename or delete it"
    return None


def _patches(file: OverlayFile, problems: list[Problem]) -> Iterator[OverlayFile]:
    """Yield the patches in a file, each with its bounds."""
    for number, content, lines in mails(file.content):
        mail = f"#{number}" if number else ""
        one = replace(file, path=file.path + mail, file=file.file + mail, content=content, mail=number, lines=lines)
        bounds = patch_bounds(content)
        for key, what, fix in bounds.faults():
            line = re.split(rf"^{key}:".encode(), content, maxsplit=1, flags=re.I | re.M)[0].count(b"\n") + 1
            problems.append(Problem(where=one.at(line), what=what, fix=fix))
            bounds = ALWAYS
        yield replace(one, bounds=bounds)


def _operations(
    merged: list[OverlayFile],
    shared: list[OverlayFile],
    passed_over: Callable[[OverlayFile], bool],
    problems: list[Problem],
    forms: FormTargets,
) -> tuple[Operation, ...]:
    """Return the operations of merge modules and shared files; those of dropped files last, without mistakes."""
    passed = [file for file in merged if passed_over(file)]
    sound = [file for file in merged if file not in passed]
    ignored: list[Problem] = []
    found = [
        *_read_all(sound, problems, lambda file: file.path, forms),
        *_read_all(shared, problems, lambda _: "", forms),
        *_read_all(passed, ignored, lambda file: file.path, forms),
    ]
    return tuple(found)


def _read_all(
    files: list[OverlayFile], problems: list[Problem], target: Callable[[OverlayFile], str], forms: FormTargets
) -> Iterator[Operation]:
    for file in files:
        with collected(problems):
            yield from read_operations(file.file, file.content, layer=file.layer, target=target(file), forms=forms)


def file_reason(file: OverlayFile) -> str:
    """Return the first line of an added file's docstring or leading comment: its reason; data are none."""
    is_open = False
    mark = _PYTHON_COMMENT if file.path.endswith((".py", ".pyi")) else _COMMENT
    for line in map(str.strip, file.content.decode("utf-8", errors="replace").splitlines()):
        begun = mark.match(line)
        if not line.strip("-"):  # blank, or how a YAML document may begin
            continue
        if not (begun or is_open):
            break  # what follows is code or data
        is_open = is_open or bool(begun and begun[0] in _BLOCKS)
        text = line[begun.end() if begun else 0 :].removesuffix("*/").removesuffix("-->").strip("\"'# ")
        if text and not text.startswith(("!", "SPDX", "Copyright")) and not _CODING.match(text):
            return text if text.isprintable() else _NO_REASON
    return _NO_REASON
