"""Said: layers → everything they say, for whichever version of upstream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import ALWAYS, Bounds, patch_bounds
from npu_overlays.overlay.inputs import is_ignored, is_left_over
from npu_overlays.overlay.mails import mails
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.parser.vocabulary import uses_markers
from npu_overlays.overlay.project import Assigned, Drop, FileSettings, Layer, TextEdit
from npu_overlays.paths import unsafe


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

    @property
    def holder(self) -> str:
        """`file` without the number of a mail: the file that holds it."""
        return self.file.removesuffix(f"#{self.mail}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which a `drop` finds it: its path, and that of the mailbox that holds it."""
        return tuple(dict.fromkeys((self.path, self.path.removesuffix(f"#{self.mail}"))))


@dataclass(frozen=True, kw_only=True)
class SourcedEdit:
    """A substitution in a non-Python file, the layer that asks for it, and where that says so."""

    layer: str
    path: str
    edit: TextEdit
    where: str

    @property
    def bounds(self) -> Bounds:
        """To which versions of upstream it applies."""
        return self.edit.bounds


@dataclass(frozen=True, kw_only=True)
class LayerContent:
    """All that layers say, for whichever version of upstream, and the mistakes found on the way."""

    operations: tuple[Operation, ...]
    files: tuple[OverlayFile, ...]
    patches: tuple[OverlayFile, ...]
    edits: tuple[SourcedEdit, ...]
    drops: tuple[tuple[Layer, Drop], ...]
    assigned: tuple[tuple[Layer, Assigned], ...]
    problems: tuple[Problem, ...]

    def bounded(self) -> Iterator[tuple[str, str, Bounds]]:
        """Yield what says for which versions it is: its layer, where it says so, and which."""
        places = [(one.layer, one.where, one.bounds) for one in self.operations]
        places += [(one.layer, one.where, one.bounds) for one in self.edits]
        places += [(one.layer, one.file, one.bounds) for one in (*self.files, *self.patches)]
        places += [(layer.name, layer.where(f"drop ({drop.name})"), drop.bounds) for layer, drop in self.drops]
        places += [(layer.name, layer.where(f"assigned ({one.when})"), one.bounds) for layer, one in self.assigned]
        yield from ((layer, where, bounds) for layer, where, bounds in dict.fromkeys(places) if bounds)


def read_layers(chain: Iterable[Layer], passed_over: Callable[[OverlayFile], bool] = lambda _: False) -> LayerContent:
    """Return all that layers say.

    Args:
        chain: the layers, lowest first.
        passed_over: whether a file of theirs need not be sound, as it is dropped as a whole.
    """
    layers = tuple(chain)
    problems: list[Problem] = []
    tree = [file for one in layers for file in _files(one, "tree", problems)]
    shared = [file for one in layers for file in _files(one, "shared", problems)]
    patches = [file for one in layers for file in _files(one, "patches", problems)]
    merged, plain = _split(tree)
    sound = [file for file in merged if not passed_over(file)]
    operations = [*_read_all(sound, shared, problems)]
    operations += _read_all([file for file in merged if file not in sound], [], [])
    return LayerContent(
        operations=tuple(operations),
        files=tuple(_with_settings(layers, plain, problems)),
        patches=tuple(patches),
        edits=tuple(_edits(layers)),
        drops=tuple((layer, drop) for layer in layers for drop in layer.drops),
        assigned=tuple((layer, one) for layer in layers for one in layer.assigned),
        problems=tuple(problems),
    )


def _edits(layers: Iterable[Layer]) -> Iterator[SourcedEdit]:
    for layer in layers:
        file, table = layer.settings
        for edit in layer.edits:
            for path in edit.paths:
                where = f"{layer.label(file)}: {f'{table}.' if table else ''}edit ({path})"
                yield SourcedEdit(layer=layer.name, path=path, edit=edit, where=where)


def _with_settings(layers: Iterable[Layer], files: list[OverlayFile], problems: list[Problem]) -> Iterator[OverlayFile]:
    """Yield added files with what their layers say of them; notes what names none of them."""
    settings = {(layer.name, one.path): one for layer in layers for one in layer.files}
    for file in files:
        one = settings.pop((file.layer, file.path), FileSettings(path=file.path))
        yield replace(file, bounds=one.bounds, accept=one.accept)
    for layer in layers:
        for path in (path for name, path in settings if name == layer.name):
            fix = f"name one of {layer.label('tree')} that upstream does not have; operations say it themselves"
            problems.append(Problem(where=layer.where("file"), what=f"`{path}` is no added file of it", fix=fix))


def _files(layer: Layer, kind: str, problems: list[Problem]) -> Iterator[OverlayFile]:
    root = layer.folder / kind
    for path in sorted(root.rglob("*")) if root.is_dir() else []:
        relative = path.relative_to(root).as_posix()
        label = layer.label(f"{kind}/{relative}")
        if is_ignored(path, root) or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink() or not path.is_file():
            problems.append(Problem(where=label, what="is not a regular file", fix="put the file itself there"))
        elif unsafe(relative):
            # A wheel lists its files in lines, and a terminal obeys what it cannot show.
            what = "has a name with a backslash, or with characters that cannot be shown"
            problems.append(Problem(where=label, what=what, fix="rename it"))
        elif is_left_over(path, root):
            fix = "delete it; if it is meant, give it another name"
            problems.append(Problem(where=label, what="is by its name what an editor or a merge left behind", fix=fix))
        elif kind == "shared" and path.suffix != ".py":
            problems.append(Problem(where=label, what="shared/ holds Python definitions", fix="move it to tree/"))
        elif kind == "patches" and path.suffix != ".patch":
            problems.append(Problem(where=label, what="patches/ holds *.patch files", fix="rename or delete it"))
        else:
            file = OverlayFile(
                layer=layer.name,
                path=relative,
                file=label,
                content=path.read_bytes(),
                executable=bool(path.stat().st_mode & 0o100),
            )
            yield from _patches(file, problems) if kind == "patches" else [file]


def _patches(file: OverlayFile, problems: list[Problem]) -> Iterator[OverlayFile]:
    """Yield the patches in a file, with the versions of upstream that each is for."""
    for number, content in mails(file.content):
        mail = f"#{number}" if number else ""
        bounds = patch_bounds(content)
        if faults := [Problem(where=file.file + mail, what=what, fix=fix) for _, what, fix in bounds.faults()]:
            problems += faults
            bounds = ALWAYS
        yield replace(file, path=file.path + mail, file=file.file + mail, content=content, bounds=bounds, mail=number)


def _split(files: Iterable[OverlayFile]) -> tuple[list[OverlayFile], list[OverlayFile]]:
    """Return the merge modules and the plain files of a tree."""
    merged: list[OverlayFile] = []
    plain: list[OverlayFile] = []
    for file in files:
        (merged if file.path.endswith(".py") and uses_markers(file.content) else plain).append(file)
    return merged, plain


def _read_all(merged: list[OverlayFile], shared: list[OverlayFile], problems: list[Problem]) -> Iterator[Operation]:
    targets = [(file, file.path) for file in merged] + [(file, "") for file in shared]
    for file, target in targets:
        try:
            yield from read_operations(file.file, file.content, layer=file.layer, target=target)
        except OverlayError as error:
            problems.extend(error.problems)


def file_reason(file: OverlayFile) -> str:
    """Return the first line of an added file's docstring or leading comment: its reason to exist."""
    for line in file.content.decode("utf-8", errors="replace").splitlines():
        text = line.strip().strip("\"'#").strip()
        if text and not text.startswith(("!", "-*-", "SPDX", "Copyright")):
            return text if text.isprintable() else "added file"  # else it is no text
    return "added file"
