"""Patches: applied by ``git apply`` without fuzz, before anything is merged."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from npu_overlays import proc
from npu_overlays.errors import MergeError, Problem
from npu_overlays.overlay.patches import PatchFile
from npu_overlays.tree import PatchedTree


def apply_patch(patch: PatchFile, tree: PatchedTree, *, absent: frozenset[str]) -> dict[str, bytes | None]:
    """Return the files a patch changes, with their new content; None where it deletes one.

    Args:
        patch: the patch.
        tree: the tree it is applied to.
        absent: paths this source is known to lack; the patch's hunks for them are left out.

    Raises:
        MergeError: where a hunk does not fit, the patch is already upstream, or it changes nothing.
    """
    paths = [path for path in patch.paths if path not in absent]
    before = {path: tree.after(path) for path in paths}
    with tempfile.TemporaryDirectory(prefix="npu-overlays-patch-") as folder:
        root = Path(folder)
        for path, content in before.items():
            if content is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(content)
        excluded = [f"--exclude={path}" for path in patch.paths if path in absent]
        _git_apply(patch, root, excluded)
        after = {path: (root / path).read_bytes() if (root / path).is_file() else None for path in paths}
    changed = {path: content for path, content in after.items() if content != before[path]}
    if not changed and len(absent & set(patch.paths)) < len(patch.paths):
        raise MergeError(Problem(where=patch.source.file, what="changes nothing", fix="delete it"))
    return changed


def _git_apply(patch: PatchFile, root: Path, excluded: list[str]) -> None:
    # Without a ceiling git would take a repository around the temporary folder for its own.
    # The user's configuration could make git ignore white space (apply.ignoreWhitespace), so none is read.
    env = {
        "GIT_CEILING_DIRECTORIES": str(root.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    settings = ["-c", "core.autocrlf=false", "-c", "core.fileMode=false"]
    command = ["git", *settings, "apply", "--whitespace=nowarn", *excluded, "-"]
    try:
        proc.run(command, cwd=root, env=env, stdin=patch.source.content)
    except proc.ProcessError as error:
        what, fix = f"does not apply: {error.output}", "refresh it on the pinned commit (npu-overlays show names it)"
        try:
            proc.run([*command[:-1], "--reverse", "--check", "-"], cwd=root, env=env, stdin=patch.source.content)
        except proc.ProcessError:
            pass
        else:
            what, fix = "is already upstream", "delete it"
        raise MergeError(Problem(where=patch.source.file, what=what, fix=fix)) from error
