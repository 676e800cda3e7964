"""Patch text: files before and after → the patch between them, and patch files with one section exchanged."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from npu_overlays import git
from npu_overlays.errors import MergeError
from npu_overlays.merge.patch_application import apply_patch
from npu_overlays.overlay.layer_content import OverlayFile
from npu_overlays.overlay.operations import Grounds
from npu_overlays.overlay.patches import read_patch
from npu_overlays.overlay.sections import letter, sections
from npu_overlays.sources.tree import PatchedTree

# Numbers of context lines; more where a patch with fewer fits in several places.
_CONTEXT = (3, 10, 40, 1000)
_HEADER = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_OPTIONS = ("--no-renames", "--full-index", "--binary", "--no-color")


def patch_between(tree: PatchedTree, after: Mapping[str, tuple[bytes | None, bool]]) -> bytes:
    """Return the patch that gives files of a tree new content, with enough context to fit in one place only.

    `after` has by path the content, None for no file, and whether it is executable. Raises `MergeError` where no patch
    does it.
    """
    before = {path: (tree.after(path), tree.is_executable(path)) for path in after}
    for lines in _CONTEXT:
        diff = _diff(before, after, lines)
        file = OverlayFile(layer="", path="x.patch", file=", ".join(after), content=b"Why: x\n\n" + diff)
        try:
            apply_patch(read_patch(file), tree, absent=frozenset())
        except MergeError:
            if lines == _CONTEXT[-1]:
                raise
        else:
            break
    return diff


def _diff(
    before: Mapping[str, tuple[bytes | None, bool]], after: Mapping[str, tuple[bytes | None, bool]], lines: int
) -> bytes:
    with tempfile.TemporaryDirectory(prefix="npu-overlays-diff-") as folder:
        root = Path(folder)
        git.alone("init", "--quiet", "--template=", cwd=root)
        trees = [_tree(root, files) for files in (before, after)]
        return git.alone("diff-tree", "-p", f"-U{lines}", *_OPTIONS, *trees, cwd=root)


def _tree(root: Path, files: Mapping[str, tuple[bytes | None, bool]]) -> str:
    git.alone("read-tree", "--empty", cwd=root)
    entries: list[bytes] = []
    for path, (content, executable) in files.items():
        if content is not None:
            blob = git.alone("hash-object", "-w", "--stdin", cwd=root, stdin=content).strip()
            entries.append(b"%s %s\t%s\0" % (b"100755" if executable else b"100644", blob, path.encode()))
    git.alone("update-index", "-z", "--index-info", cwd=root, stdin=b"".join(entries))
    return git.alone("write-tree", cwd=root).decode().strip()


def with_section(file: OverlayFile, path: str, diff: bytes) -> bytes | None:
    """Return a patch file with its section for one path exchanged, or taken out; None if nothing is left."""
    strip = read_patch(file).strip
    head = letter(file.content)
    _, *parts = _HEADER.split(file.content[len(head) :])
    kept: list[bytes] = []
    for part in parts:
        changes_it = any(path.encode() in section.paths(strip) for section in sections(part))
        kept.append(diff if changes_it else part)
    return head + b"".join(kept) if any(kept) else None


def new_patch(said: Grounds, diff: bytes) -> bytes:
    """Return a patch file with its reasons and bounds above the diff."""
    reason, bounds = said.reason, said.bounds
    # A condition that follows from a bound is not one of the author's.
    condition = "" if reason.drop_when == bounds.drop_when else reason.drop_when
    fields = [("Why", " ".join(reason.why.split())), ("Forwarded", reason.forwarded), ("Drop-when", condition)]
    fields += [("Since", bounds.since), ("Until", bounds.until), *(("Accept", str(one)) for one in said.accept)]
    return "".join(f"{name}: {text}\n" for name, text in fields if text).encode() + b"\n" + diff


def last_patch(files: tuple[OverlayFile, ...], path: str) -> OverlayFile | None:
    """Return the last patch that changes a path, if there is one."""
    return next((file for file in reversed(files) if path in read_patch(file).paths), None)


def free_name(names: frozenset[str], path: str) -> str:
    """Return an unused name for a new patch of a file."""
    stem = re.sub(r"\W+", "-", path.rpartition("/")[2].rpartition(".")[0] or path).strip("-") or "patch"
    name, number = f"{stem}.patch", 0
    while name in names:
        number += 1
        name = f"{stem}_{number}.patch"
    return name
