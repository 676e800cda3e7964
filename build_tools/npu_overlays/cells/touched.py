"""Touched: changed files and the overlays on disk → the overlays whose wheels or tests may come out otherwise.

What is not known to concern few of them concerns all: the tool, its tests, the Makefile, a workflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from npu_overlays.cells.ground import Ground
from npu_overlays.cells.repository import Change
from npu_overlays.contracts.metadata import required_names
from npu_overlays.overlay.inputs import CONTENT_FOLDERS
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks

# No wheel and no test of a cell follows from what lies there, or ends so.
_DOCUMENTS = "docs"
_PROSE = ".md"


class _Anything(Exception):  # noqa: N818  # no error: an answer that makes all others needless
    """A file changed that may concern every overlay."""


def touched(ground: Ground, change: Change) -> set[str]:
    """Return the names of the overlays that a change touches.

    That are those whose own folder or one of whose layers it is in, those that read one of these (verl's require
    transformers', and a stack pairs them), and those that a changed stack names, or named.

    Raises:
        ConfigError: two stacks pair an overlay differently.
    """
    homes = _homes(ground.overlays)
    try:
        paths = change.paths if change.paths is not None else _everything()
        found = {name for path in paths for name in _touched_by(path, ground, change, homes)}
    except _Anything:
        return {overlay.name for overlay in ground.overlays}
    return found | {reader for name in found for reader in _readers(name, ground)}


def _everything() -> Iterator[str]:
    raise _Anything


def _homes(overlays: Iterable[Overlay]) -> dict[Path, set[str]]:
    """Return the folders that overlays are made of, each with their names."""
    homes: dict[Path, set[str]] = {}
    for overlay in overlays:
        for layer in overlay.chain:
            homes.setdefault(layer.folder.resolve(), set()).add(overlay.name)
    return homes


def _touched_by(path: str, ground: Ground, change: Change, homes: Mapping[Path, set[str]]) -> Iterator[str]:
    """Yield the names of the overlays that one file touches by itself; raises `_Anything`."""
    file = change.top / path
    near = [folder for folder in file.parents if folder in homes]
    if near:
        yield from (name for folder in near if not _is_prose(file.relative_to(folder)) for name in homes[folder])
    elif file.parent == ground.stacks.folder.resolve() and file.suffix == ".json":
        yield from _stacked(file, ground.stacks, change.before(path))
    elif not (_is_prose(Path(path)) or Path(path).parts[0] == _DOCUMENTS or _is_gone(file, ground.root.resolve())):
        raise _Anything


def _is_prose(path: Path) -> bool:
    """Return whether a file is for people to read: below a layer, what it ships is not, whatever it is called."""
    return path.suffix == _PROSE and path.parts[0] not in CONTENT_FOLDERS


def _is_gone(file: Path, root: Path) -> bool:
    """Return whether a file was an overlay's that is no longer there: the stacks that named it changed with it."""
    folder = file.relative_to(root).parts[0] if file.is_relative_to(root) else ""
    return "@" in folder and not (root / folder).exists()


def _stacked(file: Path, stacks: Stacks, before: bytes) -> Iterator[str]:
    """Yield the names of the overlays that a stack names, and those that it named before; raises `_Anything`."""
    yield from (name for stack in stacks.stacks if stack.name == file.stem for name in stack.overlays)
    if before:
        try:
            yield from map(str, json.loads(before)["overlays"])
        except (ValueError, KeyError, TypeError) as error:
            raise _Anything from error


def _readers(name: str, ground: Ground) -> Iterator[str]:
    """Yield the names of the overlays that read one: its partners in a stack whose upstream requires its upstream."""
    for partner in ground.stacks.partners(name):
        metadata = ground.locked.get(partner)
        if metadata is None or name.partition("@")[0] in required_names(metadata):
            yield partner
