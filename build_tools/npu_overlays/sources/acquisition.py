"""Acquisition: a pin → the pinned upstream files as a `SourceTree`, fetched once and kept in a local cache.

Three kinds of source give the same bytes: a git repository (checked by the commit id), a release archive (by its
sha256) and a clone the user names.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from npu_overlays.errors import Problem, SourceError
from npu_overlays.sources import commits
from npu_overlays.sources import local_clones as clones
from npu_overlays.sources import pinned_archives as archives
from npu_overlays.sources.cache import Progress, cache_root
from npu_overlays.sources.git_fetch import Route, UnreachableError
from npu_overlays.sources.pin import clone_variable
from npu_overlays.sources.silent_hosts import forget
from npu_overlays.sources.tree import Mode, Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from npu_overlays.sources.pin import Pin
    from npu_overlays.sources.tree import SourceTree

__all__ = [
    "Mode",
    "acquire",
    "ask_again",
    "cache_root",
    "git_answers",
    "kept_commit",
    "sources_of",
]


def _silent(message: str) -> None:
    """Say nothing of `message`."""


def acquire(  # noqa: PLR0913  # each says another thing of where to look
    pin: Pin,
    *,
    mode: Mode = "auto",
    local: Path | None = None,
    cache: Path | None = None,
    progress: Progress = _silent,
    read: bool = True,
) -> SourceTree:
    """Return the pinned upstream files, from the cache where it has them.

    Args:
        pin: what to get.
        mode: ``git`` or ``archive`` for only that kind; ``auto`` for git and, if no repository has the commit, the
            archives. A commit in the cache is used; else git is asked each time, except repositories that left a
            connection unanswered in the last ten minutes.
        local: a clone of the user's to take the commit from, instead of any repository or archive.
        cache: the cache folder, instead of `cache_root`.
        progress: told, in one line each, what is being waited for.
        read: whether shipped files are read at once; else they are read on demand, and the cache may have lost them by
            then.

    Raises:
        SourceError: the pin cannot be acquired; lists what was tried and what to try next.
        OutputError: the cache cannot be read or written.
    """
    pin = _checked(pin)
    folder = (cache or cache_root()).absolute()
    if not pin.commit:
        return _release(pin, mode, local, folder, progress)
    if local is not None and mode == "archive":
        what = f"a local clone ({local}) and release archives are both asked for"
        raise SourceError(Problem(where=commits.where(pin), what=what, fix="leave out one of the two"))
    if local is not None:
        return clones.acquire(pin, local, cache=folder, progress=progress, read=read)
    if mode == "archive":
        return _from_archives(pin, folder, progress, ())
    try:
        return commits.acquire(pin, cache=folder, progress=progress, route=_route(pin, mode), read=read)
    except UnreachableError as error:
        if mode == "git" or not pin.archives:
            raise SourceError((*error.problems, _next(pin))) from error
        said = error.problems[0]
        progress(
            f"{commits.where(pin)}: git did not fetch it ({said.where}: {said.what}); using a release archive instead"
        )
        return _from_archives(pin, folder, progress, error.problems)


def git_answers(pin: Pin, *, cache: Path | None = None, progress: Progress = _silent) -> bool:
    """Return whether `acquire` would get the commit itself, and fetch it into the cache.

    Args:
        pin: what to get.
        cache: the cache folder, instead of `cache_root`.
        progress: told, in one line each, what is being waited for.

    Raises:
        SourceError: a repository has another commit under the pinned tag.
        OutputError: the cache cannot be read or written.
    """
    folder = (cache or cache_root()).absolute()
    try:
        return bool(pin.commit) and bool(
            commits.acquire(_checked(pin), cache=folder, progress=progress, route=_route(pin))
        )
    except UnreachableError:
        return False


def kept_commit(commit_id: str, cache: Path | None = None) -> Path:
    """Return the bare repository in the cache that holds an acquired commit."""
    return commits.kept((cache or cache_root()).absolute(), commit_id)


def _route(pin: Pin, mode: Mode = "auto") -> Route:
    # Where nothing can stand in for git, there is nothing to gain by not asking.
    return Route(urls=(pin.repository, *pin.mirrors), ask_silent=mode == "git" or not pin.archives)


def ask_again(cache: Path | None = None) -> None:
    """Forget which repositories were silent lately, so that the next `acquire` asks them."""
    forget((cache or cache_root()).absolute())


def _release(pin: Pin, mode: Mode, local: Path | None, folder: Path, progress: Progress) -> SourceTree:
    """Return the files of a pin without a commit."""
    if local is not None or mode == "git":
        what = "only a release archive is pinned, no commit that a repository could be asked for"
        named = f"--upstream and {clone_variable(pin.project)}" if local else "--source git"
        fix = f"leave out {named}, or pin the commit: tool.overlay.upstream.commit"
        raise SourceError(Problem(where=commits.where(pin), what=what, fix=fix))
    return _from_archives(pin, folder, progress, ())


def sources_of(pin: Pin, mode: Mode = "auto") -> Iterator[Source]:
    """Yield the sources that a build from a pin may record, the best first."""
    if pin.commit and mode != "archive":
        yield Source(kind="git", repository=pin.repository, commit=pin.commit)
    if mode != "git":
        for archive in pin.archives:
            yield archives.source_of(pin, archive)


def _from_archives(pin: Pin, cache: Path, progress: Progress, before: tuple[Problem, ...]) -> SourceTree:
    problems = list(before)
    for archive in pin.archives:
        try:
            return archives.acquire(pin, archive, cache=cache, progress=progress)
        except SourceError as error:
            problems.extend(error.problems)
    if not pin.archives:
        what, fix = "pins no release archive", "leave out --source archive"
        problems.append(Problem(where=commits.where(pin), what=what, fix=fix))
    # If only a release is pinned, the only remedy is to fix what the errors name.
    raise SourceError((*problems, _next(pin, archives_failed=True)) if pin.commit else problems)


def _next(pin: Pin, *, archives_failed: bool = False) -> Problem:
    clone = f"--upstream {pin.project}=PATH with a clone that is bare or checked out at the commit"
    ways = [clone, "a mirror under tool.overlay.upstream"]
    if not pin.archives:
        ways.append("a release archive under tool.overlay.upstream")
    elif not archives_failed:
        ways.append("--source archive")
    ways.append("git's and pip's proxy settings")
    return Problem(where=commits.where(pin), what="could not be fetched from any source", fix=f"try {', '.join(ways)}")


def _checked(pin: Pin) -> Pin:
    # Both become parts of cache paths.
    if not re.fullmatch("[0-9a-f]{40}", pin.commit) and (pin.commit or not pin.archives):
        what = f"{pin.commit!r} is not a full commit id of 40 hex digits"
        raise SourceError(Problem(where=pin.project, what=what, fix="pin the full commit"))
    return replace(pin, project=canonicalize_name(pin.project))
