"""Git fetch: a commit and the URLs that may have it → a bare repository that holds it.

URLs are tried in order. The user's git configuration is in force
(``insteadOf``, proxies, credential helpers); only what could run code, ask
questions or hang is switched off.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npu_overlays import git, process
from npu_overlays.errors import Problem, SourceError
from npu_overlays.sources import cache as caching
from npu_overlays.sources.cache import Progress
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.silent_hosts import REMEMBERED, longer, remember, silent_for, wait_for

_TIMEOUT = 30 * 60
_TOLD = 2.0
_SETTINGS = (
    "fetch.unpackLimit=1",  # one pack, however small the commit
    # GIT_HTTP_LOW_SPEED_LIMIT and _TIME, where the user has set them, win over these.
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
)
PINNED_TAG = "refs/pinned/tag"


@dataclass(frozen=True, kw_only=True)
class Route:
    """How to reach a commit."""

    urls: Sequence[str]  # repositories to ask, in order
    settings: Sequence[str] = ()  # further git configuration, as ``name=value``
    env: Mapping[str, str] = field(default_factory=dict)  # further variables for git
    ask_silent: bool = True  # ask those too that left a connection unanswered a few minutes ago


class UnreachableError(SourceError):
    """No repository had the commit; another kind of source may."""


class _TagMovedError(Exception):
    """The pinned tag is another commit than the pinned one."""


def fetch(pin: Pin, *, cache: Path, destination: Path, route: Route, progress: Progress) -> None:
    """Fetch the pinned commit, depth 1, and publish the bare repository that holds it.

    Args:
        pin: the commit, and its tag, for servers that only give out tags.
        cache: the cache folder.
        destination: where to publish, below `cache`.
        route: which repositories to ask, and how.
        progress: called with the URL in use.

    Raises:
        UnreachableError: no URL had it; lists their answers.
        SourceError: one of them has another commit under the pinned tag.
    """
    problems: list[Problem] = []
    moved = False
    with caching.workspace(cache) as work:
        repository = work / "repository.git"
        init_bare(repository, cache)
        for url in route.urls:
            shown = process.without_credentials(url)
            ago = None if route.ask_silent else silent_for(url, cache)
            if ago is not None:
                problems.append(_not_asked(shown, ago))
                continue
            progress(f"{pin.project} {pin.short}: fetching from {shown}")
            try:
                _fetch_one(repository, url, pin, route, FetchProgress(pin, url, progress))
            except (process.ProcessError, _TagMovedError) as error:
                _refuse_full_disk(cache, str(error))
                moved |= isinstance(error, _TagMovedError)
                silent = isinstance(error, process.SilentError)
                if silent:
                    remember(url, cache)
                fix = longer() if silent else _fix(pin, str(error), shown)
                problems.append(Problem(where=shown, what=_explained(pin, str(error)), fix=fix))
                continue
            caching.publish(cache, repository, destination)
            return
    raise (SourceError if moved else UnreachableError)(problems)


def _not_asked(shown: str, ago: float) -> Problem:
    fix = f"build again {REMEMBERED / 60:.0f} min after that, or at once with --force or --source git"
    return Problem(where=shown, what=f"gave no answer {ago / 60:.0f} min ago, and was not asked again", fix=fix)


class FetchProgress:
    """Reports git's output, or its silence, every few seconds; `patience` limits the silence."""

    def __init__(self, pin: Pin, url: str, progress: Progress) -> None:
        self.patience = wait_for(url)
        self._intro = f"{pin.project} {pin.short}: {process.without_credentials(url)}"
        self._progress = progress
        self._last = time.monotonic()

    def __call__(self, line: str, silence: float) -> None:
        """Report the last line, or how long there was none."""
        now = time.monotonic()
        if now - self._last < _TOLD:
            return
        self._last = now
        if silence >= _TOLD:
            line = f"no answer for {silence:.0f} s, given up after {min(self.patience, _TIMEOUT):.0f} s"
        self._progress(f"{self._intro}: {line}")


def init_bare(repository: Path, cache: Path) -> None:
    """Make an empty bare repository; raises `UnreachableError` if git cannot."""
    try:
        git.alone("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(repository))
    except process.ProcessError as error:
        _refuse_full_disk(cache, error.output)
        problem = Problem(where="git init", what=headline(error.output), fix="install git 2.29 or newer")
        raise UnreachableError(problem) from error


def _fetch_one(repository: Path, url: str, pin: Pin, route: Route, told: FetchProgress) -> None:
    try:
        fetch_ref(repository, url, pin.commit, route, told)
    except process.ProcessError as refused:
        # Under protocol version 0 a server may give out only what a branch or tag points at.
        if not pin.tag or not re.search("unadvertised object|not our ref", refused.output):
            raise
        try:
            fetch_ref(repository, url, f"refs/tags/{pin.tag}:{PINNED_TAG}", route, told)
        except process.ProcessError:
            raise refused from None
        _check_tag(repository, pin)
    _git(repository, "cat-file", "-e", f"{pin.commit}^{{tree}}")


def _check_tag(repository: Path, pin: Pin) -> None:
    peeled = _git(repository, "rev-parse", "--verify", f"{PINNED_TAG}^{{commit}}").decode().strip()
    if peeled != pin.commit:
        raise _TagMovedError(f"tag {pin.tag} is commit {peeled}, but {pin.commit} is pinned")


def _git(repository: Path, *arguments: str) -> bytes:
    return git.alone(f"--git-dir={repository}", *arguments)


def fetch_ref(repository: Path, url: str, wanted: str, route: Route, told: FetchProgress) -> None:
    """Fetch one commit, by its id or a reference, without its history; raises `ProcessError`."""
    options = ("--progress", "--force", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    git.watched(
        *(f"--git-dir={repository}", "fetch", *options, "--", url, wanted),
        settings=(*_SETTINGS, *route.settings),
        env=route.env,
        patience=told.patience,
        timeout=_TIMEOUT,
        heard=told,
    )


def _explained(pin: Pin, said: str) -> str:
    if "not our ref" in said:
        return f"the repository does not hold commit {pin.commit}"
    if "unadvertised object" in said:
        tag = f"its tag {pin.tag} could not be fetched either" if pin.tag else "no tag is pinned"
        return f"the server gives out only branches and tags, not commit {pin.commit}, and {tag}"
    return headline(said)


def _fix(pin: Pin, said: str, shown: str) -> str:
    if "not our ref" in said or "unadvertised object" in said or f"but {pin.commit} is pinned" in said:
        return "correct the pin, or name a repository that has it: tool.overlay.upstream.mirrors"
    return f"see that `git ls-remote {shown}` answers here"


def headline(said: str) -> str:
    """Return the first two lines of a program's output that are not warnings or hints, without credentials."""
    lines = [line.strip() for line in process.without_credentials(said).splitlines() if line.strip()]
    telling = [line for line in lines if not line.lower().startswith(("warning:", "hint:", "remote: "))]
    return "; ".join((telling or lines)[:2])


def _refuse_full_disk(cache: Path, said: str) -> None:
    for reason in ("No space left on device", "Disk quota exceeded", "Read-only file system"):
        if reason in said:
            raise caching.unusable(cache, reason)
