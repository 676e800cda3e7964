"""Line patches: what an overlay makes of its files, as ordinary diffs → on which versions of them these still apply.

For comparing: the same change as a patch directory would have it, tried by ``git apply``, which takes no fuzz, and by
GNU patch, which takes two lines of it. All versions are tried in one call of each program.
"""

from __future__ import annotations

import difflib
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from npu_overlays import git, proc
from npu_overlays.proc import ProcessError

Version = tuple[str, str]
_FUZZ = ("patch", "-p1", "--fuzz=2", "--force", "--silent", "--no-backup-if-mismatch")


@dataclass(frozen=True, kw_only=True)
class LinePatches:
    """On which versions of files, by path and blob, a line patch applies.

    Args:
        git: by ``git apply``.
        fuzzy: by GNU patch; None where there is none on this machine.
    """

    git: frozenset[Version]
    fuzzy: frozenset[Version] | None


def try_patches(changed: Mapping[str, tuple[bytes, bytes]], versions: Mapping[Version, bytes]) -> LinePatches:
    """Return which versions take the patch of their file.

    Args:
        changed: for each path, upstream's bytes where the overlay was locked, and what the overlay makes of them.
        versions: the bytes of each version of these files.
    """
    tried = [version for version in versions if version[0] in changed]
    diffs = {path: "".join(_diff(before, after)) for path, (before, after) in changed.items()}
    fuzzy = _taken(tried, versions, diffs, fuzzy=True) if shutil.which("patch") else None
    return LinePatches(git=_taken(tried, versions, diffs, fuzzy=False), fuzzy=fuzzy)


def _taken(
    tried: Collection[Version], versions: Mapping[Version, bytes], diffs: Mapping[str, str], *, fuzzy: bool
) -> frozenset[Version]:
    """Return the versions of which no hunk was rejected."""
    with tempfile.TemporaryDirectory(prefix="npu-overlays-drift-") as folder:
        root = Path(folder)
        patch: list[str] = []
        for number, version in enumerate(tried):
            (root / str(number)).mkdir()
            (root / str(number) / "file").write_bytes(versions[version])
            name = f"{number}/file"
            patch.append(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n{diffs[version[0]]}")
        content = "".join(patch).encode("utf-8", "surrogateescape")
        with suppress(ProcessError):  # one that is rejected makes both fail, having tried the others
            if fuzzy:
                proc.run(_FUZZ, cwd=root, stdin=content)
            else:
                git.apply(content, root, "--reject")
        rejected = {number for number, _ in enumerate(tried) if (root / str(number) / "file.rej").exists()}
    return frozenset(version for number, version in enumerate(tried) if number not in rejected)


def _diff(before: bytes, after: bytes) -> Iterator[str]:
    """Yield the hunks of a unified diff."""
    old, new = (content.decode("utf-8", "surrogateescape").splitlines(keepends=True) for content in (before, after))
    for line in list(difflib.unified_diff(old, new))[2:]:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
