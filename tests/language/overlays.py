"""Overlays and patches written on the spot, applied to a made-up upstream."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from npu_overlays.changes.reconciliation import declarations, reconcile
from npu_overlays.changes.tree_comparison import compare_trees
from npu_overlays.checks.patched_tree import apply_overlay
from npu_overlays.errors import MergeError, OverlayError
from npu_overlays.merge.module_deletion import written_out
from npu_overlays.merge.results import Applied
from npu_overlays.overlay.content import Content, load_content
from npu_overlays.overlay.overlay_folders import find_overlay
from support.environment import Environment
from support.overlays import write_layer, write_overlay

from .pairs import source_tree, text

COMMITS = {"base": "1" * 40, "new": "2" * 40, "newest": "3" * 40}
PATH, OTHER = "pkg/m.py", "pkg/other.py"
HEADER = "Why: because\n"
MARKERS = "from npu_overlays.markers import added, deleted, edited, replaced, upstream, wrapped\n"


def write(
    root: Path,
    files: Mapping[str, str | bytes],
    *,
    name: str = "base",
    config: str = "",
    packages: Sequence[str] = ("pkg",),
) -> str:
    """Write a pin of ``pkg`` below `root` and return its name; Python under tree/ and shared/ gets the markers."""
    folder = write_overlay(
        root,
        project="pkg",
        commit=COMMITS[name],
        repository="https://example.invalid/pkg",
        packages=[*packages],
        files=_contents(files),
        overlay=config,
    )
    return folder.name


def layer(root: Path, files: Mapping[str, str | bytes], *, name: str = "pkg", config: str = "") -> str:
    """Write a layer of ``pkg`` below `root` and return its name; Python under tree/ and shared/ gets the markers.

    One that is called ``pkg`` is what every pin below `root` is made of that names no layers.
    """
    return write_layer(root / name, project="pkg", files=_contents(files), config=config).name


def _contents(files: Mapping[str, str | bytes]) -> dict[str, bytes]:
    return {
        path: content
        if isinstance(content, bytes)
        else ((MARKERS if path.startswith(("tree/", "shared/")) else "") + text(content)).encode()
        for path, content in files.items()
    }


def load(root: Path, name: str, version: str = "1.0") -> Content:
    """Return the content of a pin below `root` on a version of upstream."""
    return load_content(find_overlay(root, name), version)


def apply(upstream: Mapping[str, bytes], content: Content, absent: frozenset[str] = frozenset()) -> Applied:
    """Apply an overlay to an upstream of the given files; the trees must show what the overlay declares."""
    tree = source_tree(upstream)
    applied = apply_overlay(written_out(content, tree), tree, absent=absent)
    reconcile(applied.tree, compare_trees(applied.tree), declarations(applied), overlay=content.overlay.name)
    return applied


def apply_files(
    tmp_path: Path, upstream: Mapping[str, bytes], files: Mapping[str, str | bytes], *, config: str = ""
) -> Applied:
    """Apply an overlay of the given files."""
    return apply(upstream, load(tmp_path / "o", write(tmp_path / "o", files, config=config)))


def refused(root: Path, upstream: str, other: str, overlay: str) -> list[str]:
    """Return the mistakes of an overlay on one module of two, `PATH` and `OTHER`, none where it applies."""
    files = {PATH: text(upstream).encode(), OTHER: text(other).encode(), "pkg/__init__.py": b""}
    try:
        apply_files(root, files, {f"tree/{PATH}": overlay})
    except MergeError as error:
        return mistakes(error)
    return []


def mistakes(error: OverlayError) -> list[str]:
    """Return every problem of an error as one line."""
    return [str(problem).replace("\n    fix: ", "; ") for problem in error.problems]


def git_diff(
    environment: Environment, before: Mapping[str, bytes], after: Mapping[str, bytes | None], *options: str
) -> bytes:
    """Return what ``git diff`` says between two states of files."""
    folder = environment.folder / "repository"
    folder.mkdir(exist_ok=True)

    def git(*arguments: str) -> bytes:
        command = ["git", *arguments]
        return subprocess.run(command, cwd=folder, env=environment.variables(), capture_output=True, check=True).stdout

    git("init", "--quiet")
    git("rm", "-r", "--quiet", "--force", "--ignore-unmatch", ".")
    for path, content in before.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    git("add", "--all", "--force")
    git("commit", "--quiet", "--allow-empty", "--message", "before")
    for path, changed in after.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).unlink(missing_ok=True)
        if changed is not None:
            (folder / path).write_bytes(changed)
    git("add", "--all", "--force")
    return git("diff", "--cached", *options)
