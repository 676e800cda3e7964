"""Affected overlays: changed files and the overlays on disk → the overlays whose wheels or tests may change.

Unless a file is known to concern few of them it concerns all: the tool, its tests, the Makefile, a workflow.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from npu_overlays.contracts.metadata import required_names
from npu_overlays.overlay.inputs import CONTENT_FOLDERS
from npu_overlays.overlay.project import Overlay
from npu_overlays.overlay.stacks import Stacks
from npu_overlays.publish.ci_matrix import OverlayFolder
from npu_overlays.publish.work_tree_changes import WorkTreeChange

# No wheel and no test of a cell follows from files in this folder, or of this ending.
_DOCUMENTS = "docs"
_PROSE = ".md"


def affected_overlays(folder: OverlayFolder, change: WorkTreeChange) -> set[str]:
    """Return the names of the overlays that a change affects.

    These are the overlays with a change in their own folder or in one of their layers, those that read one of these
    (verl's require transformers', and a stack pairs them), and those that a changed stack names, or named.

    Raises:
        ConfigError: two stacks pair an overlay differently.
    """
    everything = {overlay.name for overlay in folder.overlays}
    if change.paths is None:
        return everything
    homes = _homes(folder.overlays)
    found: set[str] = set()
    for path in change.paths:
        affected = _affected_by(path, folder, change, homes)
        if affected is None:
            return everything
        found |= affected
    readers = set()
    for name in found:
        readers |= _readers(name, folder)
    return found | readers


def _homes(overlays: Iterable[Overlay]) -> dict[Path, set[str]]:
    """Return the folders that overlays are made of, each with their names."""
    homes: dict[Path, set[str]] = {}
    for overlay in overlays:
        for layer in overlay.chain:
            homes.setdefault(layer.folder.resolve(), set()).add(overlay.name)
    return homes


def _affected_by(
    path: str, folder: OverlayFolder, change: WorkTreeChange, homes: Mapping[Path, set[str]]
) -> set[str] | None:
    """Return the names of the overlays that one file affects by itself; None if it may be any."""
    file = change.top / path
    near = [parent for parent in file.parents if parent in homes]
    if near:
        found: set[str] = set()
        for home in near:
            found |= set() if _is_prose(file.relative_to(home)) else homes[home]
        return found
    if file.parent == folder.stacks.folder.resolve() and file.suffix == ".json":
        return _of_stack(file, folder.stacks, change.before(path))
    is_document = _is_prose(Path(path)) or Path(path).parts[0] == _DOCUMENTS
    return set() if is_document or _is_removed(file, folder.root.resolve()) else None


def _is_prose(path: Path) -> bool:
    """Return whether a file is documentation; files that a layer ships never are."""
    return path.suffix == _PROSE and path.parts[0] not in CONTENT_FOLDERS


def _is_removed(file: Path, root: Path) -> bool:
    """Return whether a file belonged to an overlay that is removed: the stacks that named it changed with it."""
    folder = file.relative_to(root).parts[0] if file.is_relative_to(root) else ""
    return "@" in folder and not (root / folder).exists()


def _of_stack(file: Path, stacks: Stacks, before: bytes) -> set[str] | None:
    """Return the names of the overlays that a stack names, and those that it named before; None if unreadable."""
    found: set[str] = set()
    for stack in stacks.stacks:
        if stack.name == file.stem:
            found |= set(stack.overlays)
    if before:
        try:
            found |= set(map(str, json.loads(before)["overlays"]))
        except (ValueError, KeyError, TypeError):
            return None
    return found


def _readers(name: str, folder: OverlayFolder) -> set[str]:
    """Return the overlays that read one: its partners in a stack whose upstream requires its upstream."""
    found = set()
    for partner in folder.stacks.partners(name):
        metadata = folder.locked.get(partner)
        if metadata is None or name.partition("@")[0] in required_names(metadata):
            found.add(partner)
    return found
