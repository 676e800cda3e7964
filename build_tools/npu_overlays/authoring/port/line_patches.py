"""Line patches: an overlay's changes as ordinary diffs → the versions of the files on which they apply.

This is for comparison with a folder of patches: ``git apply`` allows no fuzz, GNU patch two lines. One call of each
program tries all versions.
"""

from __future__ import annotations

import difflib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npu_overlays import git, process
from npu_overlays.process import ProcessError

# A path and the blob of one version of it.
FileVersion = tuple[str, str]
_FUZZY = ("patch", "-p1", "--fuzz=2", "--force", "--silent", "--no-backup-if-mismatch")


@dataclass(frozen=True, kw_only=True)
class LinePatches:
    """The versions of files on which their line patches apply.

    Args:
        git: with ``git apply``.
        fuzzy: with GNU patch; None if it is not installed.
    """

    git: frozenset[FileVersion]
    fuzzy: frozenset[FileVersion] | None


def try_patches(changed: Mapping[str, tuple[bytes, bytes]], versions: Mapping[FileVersion, bytes]) -> LinePatches:
    """Return the versions on which the patch of their file applies.

    Args:
        changed: by path, upstream's bytes where the overlay was locked, and the overlay's result.
        versions: the bytes of each version of these files.
    """
    diffs = {path: _diff(before, after) for path, (before, after) in changed.items()}
    tried = [version for version in versions if version[0] in changed]
    with tempfile.TemporaryDirectory(prefix="npu-overlays-drift-") as folder:
        by_git = _patched(tried, versions, diffs, Path(folder) / "git", fuzzy=False)
        has_patch = shutil.which("patch") is not None
        fuzzy = _patched(tried, versions, diffs, Path(folder) / "fuzzy", fuzzy=True) if has_patch else None
    return LinePatches(git=by_git, fuzzy=fuzzy)


def _patched(
    tried: Sequence[FileVersion],
    versions: Mapping[FileVersion, bytes],
    diffs: Mapping[str, str],
    root: Path,
    *,
    fuzzy: bool,
) -> frozenset[FileVersion]:
    """Return the versions on which all hunks of their patch apply."""
    root.mkdir()
    patch: list[str] = []
    for number, version in enumerate(tried):
        (root / str(number)).mkdir()
        (root / str(number) / "file").write_bytes(versions[version])
        name = f"{number}/file"
        patch.append(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{diffs[version[0]]}")
    content = "".join(patch).encode("utf-8", "surrogateescape")
    with suppress(ProcessError):  # both fail if a hunk is rejected, after they tried the others
        if fuzzy:
            process.run(_FUZZY, cwd=root, stdin=content)
        else:
            git.apply(content, root, "--reject")
    rejected = {int(file.parent.name) for file in root.glob("*/file.rej")}
    return frozenset(version for number, version in enumerate(tried) if number not in rejected)


def _diff(before: bytes, after: bytes) -> str:
    """Return the hunks of a unified diff."""
    old, new = (content.decode("utf-8", "surrogateescape").splitlines(keepends=True) for content in (before, after))
    lines: list[str] = []
    for line in list(difflib.unified_diff(old, new))[2:]:
        lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)
