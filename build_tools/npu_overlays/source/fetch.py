"""Fetch: a commit and the URLs that may have it go in, a bare repository that holds it comes out.

URLs are tried in order. The user's git configuration is in force
(``insteadOf``, proxies, credential helpers); only what could run code, ask
questions or hang is switched off.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from npu_overlays import proc
from npu_overlays.errors import Problem, SourceError
from npu_overlays.source import cache as caching

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from npu_overlays.pin import Pin
    from npu_overlays.source.cache import Progress

_TIMEOUT = 30 * 60
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "fetch.unpackLimit=1",  # one pack, however small the commit
    "gc.auto=0",
    "maintenance.auto=false",
    # GIT_HTTP_LOW_SPEED_LIMIT and _TIME, where the user has set them, win over these.
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
)
_PINNED_TAG = "refs/pinned/tag"


@dataclass(frozen=True, kw_only=True)
class Route:
    """How to reach a commit.

    Args:
        urls: repositories to ask, in order.
        settings: further git configuration, as ``name=value``.
        env: further variables for git.
    """

    urls: Sequence[str]
    settings: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)


class UnreachableError(SourceError):
    """No repository had the commit; another kind of source may."""


class _TagMovedError(Exception):
    """The pinned tag is another commit than the pinned one."""


def fetch(pin: Pin, *, cache: Path, destination: Path, route: Route, progress: Progress) -> None:
    """Fetch the pinned commit, depth 1, and publish the bare repository that holds it.

    Args:
        pin: the commit, and its tag where a server only gives out tags.
        cache: the cache folder.
        destination: where to publish, below `cache`.
        route: which repositories to ask, and how.
        progress: told which URL is asked.

    Raises:
        UnreachableError: no URL had it; lists what each said.
        SourceError: one of them has another commit under the pinned tag.
    """
    problems: list[Problem] = []
    moved = False
    with caching.workspace(cache) as work:
        repository = work / "repository.git"
        _init(repository, cache)
        for url in route.urls:
            shown = proc.without_credentials(url)
            progress(f"{pin.project} {pin.short}: fetching from {shown}")
            try:
                _fetch_one(repository, url, pin, route)
            except (proc.ProcessError, _TagMovedError) as error:
                _refuse_full_disk(cache, str(error))
                moved |= isinstance(error, _TagMovedError)
                problems.append(Problem(where=shown, what=_explained(pin, str(error))))
                continue
            caching.publish(repository, destination)
            return
    raise (SourceError if moved else UnreachableError)(problems)


def _init(repository: Path, cache: Path) -> None:
    try:
        proc.run(["git", "init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(repository)])
    except proc.ProcessError as error:
        _refuse_full_disk(cache, error.output)
        problem = Problem(where="git init", what=headline(error.output), fix="install git 2.29 or newer")
        raise UnreachableError(problem) from error


def _fetch_one(repository: Path, url: str, pin: Pin, route: Route) -> None:
    try:
        _git_fetch(repository, url, pin.commit, route)
    except proc.ProcessError as refused:
        # Under protocol version 0 a server may give out only what a branch or tag points at.
        if not pin.tag or not re.search("unadvertised object|not our ref", refused.output):
            raise
        try:
            _git_fetch(repository, url, f"refs/tags/{pin.tag}:{_PINNED_TAG}", route)
        except proc.ProcessError:
            raise refused from None
        _check_tag(repository, pin)
    _git(repository, "cat-file", "-e", f"{pin.commit}^{{tree}}")


def _check_tag(repository: Path, pin: Pin) -> None:
    peeled = _git(repository, "rev-parse", "--verify", f"{_PINNED_TAG}^{{commit}}").decode().strip()
    if peeled != pin.commit:
        raise _TagMovedError(f"tag {pin.tag} is commit {peeled}, but {pin.commit} is pinned")


def _git_fetch(repository: Path, url: str, wanted: str, route: Route) -> None:
    options = ("--quiet", "--force", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    _git(repository, "fetch", *options, "--", url, wanted, route=route)


def _git(repository: Path, *arguments: str, route: Route | None = None) -> bytes:
    wanted = (*_SETTINGS, *(route.settings if route else ()))
    settings = [part for setting in wanted for part in ("-c", setting)]
    env = {"GIT_TERMINAL_PROMPT": os.environ.get("GIT_TERMINAL_PROMPT", "0")}
    command = ["git", f"--git-dir={repository}", *settings, *arguments]
    return proc.run(command, cwd=repository, env={**env, **(route.env if route else {})}, timeout=_TIMEOUT)


def _explained(pin: Pin, said: str) -> str:
    if "not our ref" in said:
        return f"the repository does not hold commit {pin.commit}"
    if "unadvertised object" in said:
        tag = f"its tag {pin.tag} could not be fetched either" if pin.tag else "no tag is pinned"
        return f"the server gives out only branches and tags, not commit {pin.commit}, and {tag}"
    return headline(said)


def headline(said: str) -> str:
    """Return the first two lines of a program's output that are not warnings or hints, without credentials."""
    lines = [line.strip() for line in proc.without_credentials(said).splitlines() if line.strip()]
    telling = [line for line in lines if not line.lower().startswith(("warning:", "hint:"))]
    return "; ".join((telling or lines)[:2])


def _refuse_full_disk(cache: Path, said: str) -> None:
    for reason in ("No space left on device", "Disk quota exceeded", "Read-only file system"):
        if reason in said:
            raise caching.unusable(cache, reason)
