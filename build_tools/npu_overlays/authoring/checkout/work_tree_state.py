"""Work tree state: refuses a work tree whose files are not an edit of what the overlay gives."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from npu_overlays.authoring.checkout.repository import BRANCH, Repository
from npu_overlays.errors import Problem, UsageError


def _either(command: str) -> tuple[str, str]:
    return f"a {command} is under way", f"finish it ({{git}} {command} --continue), or give it up (--abort)"


# The files that git keeps during an operation, the operation, and how the user ends it.
_UNDER_WAY = {
    "rebase-merge": _either("rebase"),
    "rebase-apply": _either("rebase"),
    "MERGE_HEAD": _either("merge"),
    "CHERRY_PICK_HEAD": _either("cherry-pick"),
    "REVERT_HEAD": _either("revert"),
    "BISECT_LOG": ("a bisect is under way", "end it ({git} bisect reset)"),
    "index.lock": (
        "git is at work there (index.lock)",
        "let it end; where none of its commands runs any more, delete .git/index.lock",
    ),
}


def refuse_unsettled(folder: Path, head: str) -> None:
    """Raise `UsageError` where a work tree is not an edit of what an overlay gives, whose last commit is `head`.

    An operation of git's is under way in it; it is at a commit without some of the overlay's, so that these would seem
    undone; or another work tree has the branch that a refresh moves.
    """
    if problem := next(_unsettled(Repository(folder), head), None):
        raise UsageError(problem)


def _unsettled(repository: Repository, head: str) -> Iterator[Problem]:
    where = str(repository.folder)
    git = f"git -C {shlex.quote(where)}"
    for name, (what, fix) in _UNDER_WAY.items():
        if (repository.folder / ".git" / name).exists():
            yield Problem(where=where, what=what, fix=fix.format(git=git))
    lacking = int(repository.line("rev-list", "--count", f"HEAD..{head}"))
    if lacking:
        at = repository.line("rev-parse", "--short", "HEAD")
        what = f"is at {at}, which lacks {lacking} of the overlay's commits: what they say would be taken out"
        fix = f"{git} switch {BRANCH}; or where its files are as you want them: {git} reset --soft {head[:12]}"
        yield Problem(where=where, what=what, fix=fix)
    for other in repository.holders(BRANCH):
        what = f"the branch {BRANCH}, which a refresh moves, is checked out in {other} too"
        yield Problem(where=where, what=what, fix=f"git -C {shlex.quote(other)} switch --detach")
