"""Over modules that are shipped of the pinned transformers and verl, chosen by what they hold."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.sources.tree import FileEntry, Mode, PatchedTree, Source, SourceTree, blob_id

from . import checks
from .conftest import Pinned, modules, pinned


def _check(pin: Pinned, record: Callable[[str, object], None]) -> None:
    found = modules(pin)
    assert found.count
    replaced = wrapped = 0
    for path, content in found.contents.items():
        checks.unchanged(path, content)
        replaced += checks.replaced_by_itself(path, content)
        wrapped += checks.wrapped(path, content)
    assert compare_trees(_same_tree(found.contents)) == ()
    record("modules", len(found.contents))
    record("replaced functions", replaced)
    record("wrapped functions", wrapped)


def _same_tree(contents: dict[str, bytes]) -> PatchedTree:
    """Return a tree patched with its own files."""
    entries = {path: FileEntry(blob=blob_id(content)) for path, content in contents.items()}
    source = Source(kind="git", repository="", commit="")
    return PatchedTree(upstream=SourceTree(entries=entries, content=contents, source=source), changed=dict(contents))


def _only(mode: Mode) -> pytest.MarkDecorator:
    pins = [pin for pin in pinned() if pin[1] == mode]
    return pytest.mark.parametrize("pin", [pytest.param(pin, id=pin[0].name) for pin in pins])


@pytest.mark.upstream
@pytest.mark.slow("first")
@_only("git")
def test_modules_of_the_pinned_commits(pin: Pinned, record_property: Callable[[str, object], None]) -> None:
    _check(pin, record_property)


@pytest.mark.index
@pytest.mark.slow("first")
@pytest.mark.thorough
@_only("archive")
def test_modules_of_the_release_archives(pin: Pinned, record_property: Callable[[str, object], None]) -> None:
    _check(pin, record_property)
