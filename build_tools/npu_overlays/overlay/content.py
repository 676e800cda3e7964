"""Content: an overlay and those it extends in, every file and operation they hold out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from npu_overlays.errors import MergeError, OverlayError, Problem
from npu_overlays.overlay.inputs import inputs_digest, is_ignored, is_left_over
from npu_overlays.overlay.lookup import lineage
from npu_overlays.overlay.marks import uses_markers
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.project import Overlay, TextEdit, is_plain_path

_Item = TypeVar("_Item", "OverlayFile", "SourcedEdit")


@dataclass(frozen=True, kw_only=True)
class OverlayFile:
    """One file of an overlay.

    Args:
        overlay: name of the overlay it lies in.
        path: for `tree` the repository path it stands for, otherwise its name.
        file: where it lies, relative to the folder of overlays, for messages.
        content: its bytes.
        executable: whether it is executable.
    """

    overlay: str
    path: str
    file: str
    content: bytes
    executable: bool = False


@dataclass(frozen=True, kw_only=True)
class SourcedEdit:
    """A substitution in a non-Python file, and the overlay that asks for it."""

    overlay: str
    path: str
    edit: TextEdit


@dataclass(frozen=True, kw_only=True)
class Content:
    """Everything an overlay says, inherited files included, dropped ones left out.

    Args:
        overlay: the overlay built.
        lineage: names of the overlays it extends, oldest first, without itself.
        operations: from merge modules and shared definitions.
        files: added files of ``tree/``.
        patches: in the order in which they are applied.
        edits: substitutions in non-Python files.
        digest: sha256 over all of it and over the configuration, hex.
    """

    overlay: Overlay
    lineage: tuple[str, ...]
    operations: tuple[Operation, ...]
    files: tuple[OverlayFile, ...]
    patches: tuple[OverlayFile, ...]
    edits: tuple[SourcedEdit, ...]
    digest: str


def load_content(overlay: Overlay) -> Content:
    """Read an overlay and its lineage; raises `OverlayError` with every mistake of every file."""
    chain = lineage(overlay)
    problems: list[Problem] = []
    tree = [file for one in chain for file in _files(one, "tree", problems)]
    shared = [file for one in chain for file in _files(one, "shared", problems)]
    patches = [file for one in chain for file in _files(one, "patches", problems)]
    edits = [
        SourcedEdit(overlay=one.name, path=path, edit=edit)
        for one in chain
        for edit in one.edits
        for path in edit.paths
    ]
    dropping = _Dropping(chain)
    merged, plain = _split(tree)
    kept = dropping.kept(merged, lambda file: file.path)
    # Read for their names only: what an overlay in between drops of a file is not without effect because a later one
    # drops all of it.
    dropping.kept_operations(_read_all([file for file in merged if file not in kept], [], []))
    content = Content(
        overlay=overlay,
        lineage=tuple(one.name for one in chain[:-1]),
        operations=tuple(dropping.kept_operations(_read_all(kept, shared, problems))),
        files=tuple(dropping.kept(plain, lambda file: file.path)),
        patches=tuple(dropping.kept(patches, lambda file: file.path)),
        edits=tuple(dropping.kept(edits, lambda edit: edit.path)),
        digest=inputs_digest(chain),
    )
    problems += [*_clashes(content), *dropping.unused()]
    if problems:
        raise MergeError(problems)
    return content


def _files(overlay: Overlay, kind: str, problems: list[Problem]) -> Iterator[OverlayFile]:
    root = overlay.folder / kind
    for path in sorted(root.rglob("*")) if root.is_dir() else []:
        relative = path.relative_to(root).as_posix()
        label = f"{overlay.name}/{kind}/{relative}"
        if is_ignored(path, root) or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink() or not path.is_file():
            problems.append(Problem(where=label, what="is not a regular file", fix="put the file itself there"))
        elif not is_plain_path(relative):
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
            executable = bool(path.stat().st_mode & 0o100)
            yield OverlayFile(
                overlay=overlay.name, path=relative, file=label, content=path.read_bytes(), executable=executable
            )


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
            yield from read_operations(file.file, file.content, overlay=file.overlay, target=target)
        except OverlayError as error:
            problems.extend(error.problems)


@dataclass
class _Dropping:
    """What each overlay of a lineage leaves out of the ones before it."""

    chain: tuple[Overlay, ...]

    def __post_init__(self) -> None:
        self._order = {overlay.name: number for number, overlay in enumerate(self.chain)}
        self._used: set[tuple[str, str]] = set()

    def _drops(self, overlay: str, *names: str) -> bool:
        later = self.chain[self._order[overlay] + 1 :]
        hits = {(one.name, name) for one in later for name in names if name in one.drop}
        self._used |= hits
        return bool(hits)

    def kept(self, items: Iterable[_Item], path: Callable[[_Item], str]) -> list[_Item]:
        return [item for item in items if not self._drops(item.overlay, path(item))]

    def kept_operations(self, operations: Iterable[Operation]) -> list[Operation]:
        return [
            operation
            for operation in operations
            if not self._drops(operation.overlay, operation.path, f"{operation.path}:{operation.symbol}")
        ]

    def unused(self) -> Iterator[Problem]:
        for overlay in self.chain:
            for name in overlay.drop:
                if (overlay.name, name) not in self._used:
                    where = f"{overlay.folder / 'pyproject.toml'}: tool.overlay.drop"
                    yield Problem(where=where, what=f"`{name}` drops nothing", fix="delete the entry, or mend its name")


def _clashes(content: Content) -> Iterator[Problem]:
    """Yield a problem for every added file that two overlays of the lineage hold."""
    first: dict[str, OverlayFile] = {}
    for file in content.files:
        known = first.setdefault(file.path, file)
        if known is not file:
            fix = f'name "{file.path}" in tool.overlay.drop to leave out the inherited one'
            yield Problem(where=file.file, what=f"the same file as {known.file}", fix=fix)


def file_reason(file: OverlayFile) -> str:
    """Return the first line of an added file's docstring or leading comment: its reason to exist."""
    for line in file.content.decode("utf-8", errors="replace").splitlines():
        text = line.strip().strip("\"'#").strip()
        if text and not text.startswith(("!", "-*-", "SPDX", "Copyright")):
            return text
    return "added file"
