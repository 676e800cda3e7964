"""Over every module that is shipped of the pinned transformers and verl, each content once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npu_overlays.changes import compare_trees
from npu_overlays.project import Overlay
from npu_overlays.tree import FileEntry, Origin, PatchedTree, SourceTree, blob_id

from . import checks
from .conftest import Modules, modules, pinned


def _check_all(found: Modules, tmp_path: Path, record: Callable[[str, object], None]) -> None:
    assert found.contents, f"{found.name}: no module that an earlier pin does not have"
    replaced = wrapped = 0
    for path, content in found.contents.items():
        checks.unchanged(path, content)
        replaced += checks.replaced_by_itself(path, content)
        wrapped += checks.wrapped(path, content)
    assert compare_trees(_same_tree(tmp_path, found.contents)) == ()
    record("modules", len(found.contents))
    record("replaced functions", replaced)
    record("wrapped functions", wrapped)


def _same_tree(folder: Path, contents: dict[str, bytes]) -> PatchedTree:
    """Return a tree patched with its own files."""
    for path, content in contents.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    entries = {path: FileEntry(blob=blob_id(content)) for path, content in contents.items()}
    origin = Origin(kind="git", repository="", commit="")
    return PatchedTree(source=SourceTree(root=folder, entries=entries, origin=origin), changed=dict(contents))


def _name(overlay: Overlay) -> str:
    return overlay.name


@pytest.mark.upstream
@pytest.mark.parametrize("overlay", pinned("git"), ids=_name)
def test_modules_of_the_pinned_commits(
    overlay: Overlay, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _check_all(modules(overlay, "git"), tmp_path, record_property)


@pytest.mark.index
@pytest.mark.parametrize("overlay", pinned("archive"), ids=_name)
def test_modules_of_the_release_archives(
    overlay: Overlay, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    _check_all(modules(overlay, "archive"), tmp_path, record_property)
