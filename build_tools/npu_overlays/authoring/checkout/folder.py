"""Folder: an overlay → a checkout in a new folder, written as a whole, and the record of its origin."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from npu_overlays.authoring.checkout.commit_series import OverlayCommit, series
from npu_overlays.authoring.checkout.repository import BRANCH, Repository
from npu_overlays.authoring.new_folder import another, new_folder, refuse_present
from npu_overlays.errors import OutputError, Problem, UsageError
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.inputs import LICENCE_FILES, LOCK_FILE, inputs_digest
from npu_overlays.pipeline.preparation import AppliedInput
from npu_overlays.progress import step
from npu_summary.plurals import plural

# The keys of the repository's own configuration that record what it was made of.
_NAME, _DIGEST = "npu-overlays.overlay", "npu-overlays.digest"
_BASE, _HEAD = "npu-overlays.upstream", "npu-overlays.head"
# The digest that the overlay will have once a refresh has written what was edited there.
_NEXT = "npu-overlays.next"


@dataclass(frozen=True, kw_only=True)
class Checkout:
    """A work tree made of an overlay."""

    folder: Path
    # The overlay's name, and the digest of every input of its result.
    overlay: str
    digest: str
    # Upstream's commit in the repository, and the last commit of the overlay's.
    base: str
    head: str


def check_out(subject: AppliedInput, folder: Path) -> tuple[Checkout, tuple[OverlayCommit, ...]]:
    """Make a checkout of an overlay in a folder, which may be there and empty.

    Raises:
        UsageError: something is there already.
        MergeError: the overlay does not fit upstream.
        OutputError: it cannot be written.
    """
    refuse_present(folder)
    made = series(subject)
    step(f"writing {plural(len(made), 'commit')}")
    overlay, digest = subject.content.overlay.name, digest_of(subject.content)
    with new_folder(folder, option="DIR", fix="name another folder") as stage:
        repository = Repository(stage)
        base = repository.start(subject)
        head = repository.commit(subject, base, made)
        repository.go_to(head)
        found = Checkout(folder=folder, overlay=overlay, digest=digest, base=base, head=head)
        note(stage, found)
    return found, made


def digest_of(content: Content) -> str:
    """Return the digest of every input of an overlay's result; its lock and licences do not count."""
    return inputs_digest(content.inputs, without=(LOCK_FILE, *LICENCE_FILES))


def note(folder: Path, found: Checkout) -> None:
    """Record in a repository what it was made of."""
    repository = Repository(folder)
    for key, value in ((_NAME, found.overlay), (_DIGEST, found.digest), (_BASE, found.base), (_HEAD, found.head)):
        repository.git("config", key, value)


def note_next(folder: Path, digest: str) -> None:
    """Record the digest that the overlay will have with what was edited: the work tree is not behind it then."""
    Repository(folder).git("config", _NEXT, digest)


def find_checkout(folder: Path, content: Content) -> Checkout:
    """Return the checkout in a folder, which has to be of an overlay with this content.

    Raises:
        UsageError: there is none, it is of another overlay, the overlay was changed since it was made, or its work tree
            is in a state from which it cannot be brought back.
    """
    overlay = content.overlay.name
    new = shlex.quote(str(another(folder) if folder.exists() else folder))
    again = f"make one with `npu-overlays checkout {content.overlay.argument} {new}`"
    known = _noted(folder)
    if known.keys() - {_NEXT} != {_NAME, _DIGEST, _BASE, _HEAD}:
        what = "is no checkout of an overlay" if folder.is_dir() else "there is no such folder"
        raise UsageError(Problem(where=str(folder), what=what, fix=again))
    found = Checkout(folder=folder, overlay=known[_NAME], digest=known[_DIGEST], base=known[_BASE], head=known[_HEAD])
    if found.overlay != overlay:
        what, fix = f"is a checkout of {found.overlay}, not of {overlay}", f"{again}, or name {found.overlay}"
        raise UsageError(Problem(where=str(folder), what=what, fix=fix, options=((overlay, found.overlay),)))
    if digest_of(content) not in {found.digest, known.get(_NEXT)}:
        what = f"{overlay} was changed since this checkout was made"
        difference = f"git -C {shlex.quote(str(folder))} diff --binary {found.head[:12]}"
        fix = f"{again}, and bring your changes there: `{difference} | git -C {new} apply`"
        raise UsageError(Problem(where=str(folder), what=what, fix=fix))
    refuse_unsettled(folder, found.head)
    return found


def _noted(folder: Path) -> Mapping[str, str]:
    if not (folder / ".git").is_dir():
        return {}
    try:
        raw = Repository(folder).git("config", "--local", "--null", "--get-regexp", r"^npu-overlays\.")
    except OutputError:
        return {}
    found: dict[str, str] = {}
    for entry in raw.decode(errors="replace").split("\0"):
        key, _, found[key] = entry.partition("\n")
    found.pop("", None)
    return found


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
        what = f"is at {at}, which lacks {lacking} of the overlay's commits: a refresh would delete their operations"
        fix = f"run `{git} switch {BRANCH}`; or, where the files are as you want them, `{git} reset --soft {head[:12]}`"
        yield Problem(where=where, what=what, fix=fix)
    for other in repository.holders(BRANCH):
        what = f"the branch {BRANCH}, which a refresh moves, is checked out in {other} too"
        yield Problem(where=where, what=what, fix=f"run `git -C {shlex.quote(other)} switch --detach`")
