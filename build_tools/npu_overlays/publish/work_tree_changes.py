"""Work tree changes: a revision → the files of a work tree that differ from where it left that branch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from npu_overlays import git, process
from npu_overlays.errors import Problem, UsageError

_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_OPTION = "--changed-since"


@dataclass(frozen=True, kw_only=True)
class WorkTreeChange:
    """The files that differ in a work tree, committed or not."""

    top: Path  # the top of the work tree
    paths: tuple[str, ...] | None  # of the files, from there; None where it cannot be known, and any file may differ
    before: Callable[[str], bytes]  # gives the content of a file then; empty where there was none
    note: str = ""  # why the paths cannot be known, else empty


def change_since(revision: str, folder: Path) -> WorkTreeChange:
    """Return the files that changed since a work tree and a revision parted.

    Args:
        revision: a branch, a tag or a commit. A full commit id that is not in this clone, zeros among them, is what a
            CI names after a forced push or on a new branch: then every file may have changed.
        folder: any folder of the work tree.

    Raises:
        UsageError: the folder is in no work tree, or there is no such revision.
    """
    try:
        top = Path(_git(folder, "rev-parse", "--show-toplevel").removesuffix("\n"))
    except process.ProcessError as error:
        what, fix = f"{folder} lies in no work tree of git: {error}", f"leave {_OPTION} out to get every cell"
        raise UsageError(Problem(where=_OPTION, what=what, fix=fix)) from error
    if not revision.strip("0") or (_ID.fullmatch(revision) and not _is_there(top, revision)):
        note = f"{revision} is no commit of this clone: every cell counts as touched"
        return WorkTreeChange(top=top, paths=None, before=lambda _: b"", note=note)
    base = _merge_base(top, revision)
    changed = _listed(top, "diff", "--name-only", "--no-renames", "--no-relative", "--no-ext-diff", "-z", base, "--")
    new = _listed(top, "ls-files", "--others", "--exclude-standard", "-z")
    return WorkTreeChange(top=top, paths=tuple(sorted({*changed, *new})), before=partial(_before, top, base))


def _merge_base(top: Path, revision: str) -> str:
    """Return the commit at which the branch of a revision and ours parted; raises `UsageError`."""
    try:
        commit = _git(top, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip()
    except process.ProcessError as error:
        fix = "name a branch, a tag or a commit of this clone; `git fetch` brings those of others"
        raise UsageError(Problem(where=_OPTION, what=f"there is no revision `{revision}`", fix=fix)) from error
    try:
        return _git(top, "merge-base", commit, "HEAD").strip()
    except process.ProcessError as error:
        what = f"`{revision}` and what is checked out have no commit in common"
        fix = "fetch the history between them: git fetch --unshallow, or fetch-depth: 0 of actions/checkout"
        raise UsageError(Problem(where=_OPTION, what=what, fix=fix)) from error


def _is_there(top: Path, commit: str) -> bool:
    try:
        _git(top, "cat-file", "-e", f"{commit}^{{commit}}")
    except process.ProcessError:
        return False
    return True


def _before(top: Path, base: str, path: str) -> bytes:
    try:
        return git.configured("cat-file", "blob", f"{base}:{path}", cwd=top)
    except process.ProcessError:
        return b""


def _listed(top: Path, *arguments: str) -> list[str]:
    return [path for path in _git(top, *arguments).split("\0") if path]


def _git(folder: Path, *arguments: str) -> str:
    return git.configured(*arguments, cwd=folder).decode("utf-8", "surrogateescape")
