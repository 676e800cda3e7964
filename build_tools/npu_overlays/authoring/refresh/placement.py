"""Placement: changed files of layers → a copy of the overlay to try them in, and the layers themselves."""

from __future__ import annotations

import shutil
import sysconfig
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from npu_overlays.errors import OverlayError, Problem, UsageError
from npu_overlays.files import remove, scratch, write_file, writing
from npu_overlays.interrupts import Interrupted, held, undisguised
from npu_overlays.overlay.configuration import load_overlay
from npu_overlays.overlay.layers import BUNDLED_LAYERS
from npu_overlays.overlay.project import BUNDLED, Layer, Overlay


@dataclass(frozen=True, kw_only=True)
class LayerFile:
    """A file of a layer, with its new content."""

    layer: Layer
    path: str
    # None where the file goes.
    content: bytes | None
    executable: bool = False


@dataclass(kw_only=True)
class LayerFiles:
    """The files of layers, with the changes made so far."""

    changed: dict[tuple[str, str], LayerFile] = field(default_factory=dict)

    def read(self, layer: Layer, path: str) -> bytes | None:
        """Return the content of a file, or None."""
        if known := self.changed.get((layer.name, path)):
            return known.content
        file = layer.folder / path
        return file.read_bytes() if file.is_file() else None

    def write(self, layer: Layer, path: str, content: bytes | None, *, executable: bool = False) -> None:
        """Give a file new content; None deletes it."""
        self.changed[layer.name, path] = LayerFile(layer=layer, path=path, content=content, executable=executable)


def refuse_installed(files: Sequence[LayerFile]) -> None:
    """Raise `UsageError` where files of a layer change that an installed distribution holds."""
    roots = [Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")]
    what = "is installed, and refresh does not change installed files"
    fix = "change it in its own repository, or drop the operation (tool.overlay.drop) and write another in the pin"
    problems: dict[Path, Problem] = {}
    for layer in (file.layer for file in files):
        if any(map(layer.folder.resolve().is_relative_to, roots)):
            problems[layer.folder] = Problem(where=f"{layer.name} ({layer.folder})", what=what, fix=fix)
    if problems:
        raise UsageError(problems.values())


@contextmanager
def staged(overlay: Overlay, files: Sequence[LayerFile]) -> Iterator[Overlay]:
    """Give an overlay with changed files of its layers, read from a copy that is arranged as an sdist is.

    Errors that the block raises name the layers themselves: the copy is gone by then.
    """
    with tempfile.TemporaryDirectory(prefix="npu-overlays-refresh-") as place:
        folders = _copied(Path(place), overlay)
        for file in _in_order(files):
            folder = folders[file.layer.name]
            path = folder / file.path
            if file.content is None:
                remove(path, within=folder)
            else:
                write_file(path, file.content, executable=file.executable)
        try:
            yield load_overlay(folders[overlay.chain[-1].name])
        except OverlayError as error:
            # Those of other layers lie in that of the pin, and come first.
            names = [(str(folders[layer.name]), str(layer.folder)) for layer in overlay.chain]
            raise type(error)(_renamed(one, names) for one in error.problems) from error


def _renamed(problem: Problem, names: Sequence[tuple[str, str]]) -> Problem:
    where, what, fix = problem.where, problem.what, problem.fix
    for copy, layer in names:
        where, what, fix = (text.replace(copy, layer) for text in (where, what, fix))
    return replace(problem, where=where, what=what, fix=fix)


def _copied(place: Path, overlay: Overlay) -> dict[str, Path]:
    """Copy the layers of an overlay into an empty folder, and return where each is, by name."""
    folders: dict[str, Path] = {}
    *layers, own = overlay.chain
    folders[own.name] = place / overlay.folder.name
    _copy(own, folders[own.name])
    (folders[own.name] / BUNDLED / BUNDLED_LAYERS).mkdir(parents=True, exist_ok=True)
    for number, layer in enumerate(layers):
        folders[layer.name] = folders[own.name] / BUNDLED / BUNDLED_LAYERS / str(number) / layer.folder.name
        _copy(layer, folders[layer.name])
    return folders


def _in_order(files: Sequence[LayerFile]) -> list[LayerFile]:
    """Return files, those that go first: their folder may become a file."""
    return sorted(files, key=lambda file: file.content is not None)


def _copy(layer: Layer, folder: Path) -> None:
    shutil.copytree(layer.folder, folder, ignore=shutil.ignore_patterns(".git", "wheels", BUNDLED))


def put_in_place(files: Sequence[LayerFile], *, state: str) -> None:
    """Write the files of layers: all of them beside their places first, and then each into its own.

    Args:
        files: with their new content.
        state: what the user finds then, where an interrupt comes meanwhile.

    Raises:
        OutputError: one cannot be written; as a rule none is then.
    """
    with ExitStack() as stack:
        made = [(file, _beside(stack, file)) for file in _in_order(files)]
        with held(state):
            for file, path in made:
                _put_in_place(file, path)


@contextmanager
def undone_on_failure(files: Iterable[tuple[Layer, str]], *, state: str) -> Iterator[None]:
    """Give files of layers the content back that they have now, where the block fails or is interrupted.

    Args:
        files: each layer, and the path in it.
        state: what the user finds then, where an interrupt ends it.
    """
    before = [_as_now(layer, path) for layer, path in files]
    try:
        with undisguised():
            yield
    except BaseException as error:
        put_in_place([one for one in before if _as_now(one.layer, one.path) != one], state=state)
        if isinstance(error, Interrupted):
            raise Interrupted(error.number, state) from None
        raise


def _as_now(layer: Layer, path: str) -> LayerFile:
    file = layer.folder / path
    if not file.is_file():
        return LayerFile(layer=layer, path=path, content=None)
    executable = bool(file.stat().st_mode & 0o100)
    return LayerFile(layer=layer, path=path, content=file.read_bytes(), executable=executable)


def _beside(stack: ExitStack, file: LayerFile) -> Path:
    """Write a file into a scratch folder of its layer, and return it."""
    with writing(file.layer.folder):
        path = stack.enter_context(scratch(file.layer.folder)) / "file"
        if file.content is not None:
            write_file(path, file.content, executable=file.executable)
    return path


def _put_in_place(file: LayerFile, made: Path) -> None:
    path = file.layer.folder / file.path
    if file.content is None:
        remove(path, within=file.layer.folder)
        return
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        made.replace(path)
