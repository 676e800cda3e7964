"""Before/after pairs: upstream's text and an overlay file in, the patched text or the refusals out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping

import pytest

from npu_overlays.changes.reconciliation import reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.merge.module_merge import merge
from npu_overlays.merge.results import Declared
from npu_overlays.model.module import Module
from npu_overlays.overlay.merge_modules import read_operations
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.tree import FileEntry, PatchedTree, Source, SourceTree, blob_id

PATH = "pkg/module.py"
_MARKERS = "from npu_overlays.markers import added, deleted, edited, replaced, upstream, wrapped\n"
_NOTICE = re.compile(r"# Changed for NPU by pkg-npu \((\w+)(?: \w+)?\): ")


def text(block: str) -> str:
    """Return an indented block of a test as a file's text."""
    return textwrap.dedent(block).lstrip("\n")


def as_bytes(content: str | bytes) -> bytes:
    """Return what a test gives as a file: bytes as they are, text as UTF-8 at column 0."""
    return content if isinstance(content, bytes) else text(content).encode()


def operations(overlay: str, target: str = PATH) -> tuple[Operation, ...]:
    """Return the operations of an overlay file; its first line is line 2, after the import of the markers."""
    return read_operations("o.py", (_MARKERS + text(overlay)).encode(), layer="o", target=target)


def merged(before: str | bytes, overlay: str, target: str = PATH) -> tuple[bytes, tuple[Declared, ...]]:
    """Return the patched bytes and what was declared."""
    listed = [operation for operation in operations(overlay, target) if operation.path == PATH]
    return merge(PATH, as_bytes(before), listed, distribution="pkg-npu", purpose="NPU")


def check(before: str | bytes, overlay: str, after: str | bytes, target: str = PATH) -> None:
    """Check a merge; in `after`, a notice is written ``# wrapped: why``.

    The result must be Python, and the trees must show exactly what the overlay declares.
    """
    content, declared = merged(before, overlay, target)
    expected = as_bytes(after)
    assert _NOTICE.sub(r"# \1: ", content.decode()) == expected.decode()
    Module(PATH, content)
    explain(as_bytes(before), content, declared)


def explain(before: bytes, after: bytes, declared: tuple[Declared, ...]) -> list[str]:
    """Return what the trees show, ``action symbol (operation, …)``, checked against what was declared."""
    tree = patched({PATH: before}, {PATH: after})
    files = reconcile(tree, compare_trees(tree), declared, overlay="o")
    pairs = [pair for file in files for entry in file.class_changes for pair in entry.changes]
    pairs += [pair for file in files for pair in file.module_changes]
    return [
        f"{pair.change.action} {pair.change.symbol} ({', '.join(one.operation for one in (pair.declared, *pair.also))})"
        for pair in pairs
    ]


def refused(before: str | bytes, overlay: str, *messages: str, target: str = PATH) -> None:
    """Check that exactly these mistakes are reported at once, each written ``line: what; fix``."""
    with pytest.raises(OverlayError) as caught:
        merged(before, overlay, target)
    assert [worded(problem) for problem in caught.value.problems] == list(messages)


def worded(problem: Problem) -> str:
    """Return a problem as one line."""
    return f"{problem.where.removeprefix('o.py:')}: {problem.what}; {problem.fix}".removesuffix("; ")


def source_tree(files: Mapping[str, bytes]) -> SourceTree:
    """Return a source tree of the given files."""
    entries = {path: FileEntry(blob=blob_id(content)) for path, content in sorted(files.items())}
    source = Source(kind="git", repository="r", commit="0" * 40)
    return SourceTree(entries=entries, content=dict(files), source=source)


def patched(before: Mapping[str, bytes], changed: Mapping[str, bytes | None]) -> PatchedTree:
    """Return a patched tree."""
    return PatchedTree(upstream=source_tree(before), changed=changed)
