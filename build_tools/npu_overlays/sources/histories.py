"""Histories: an upstream's repository and names of revisions → a bare repository in the cache with their histories.

A build needs one commit; a comparison needs those in between. They are fetched on demand, from the same places, and
stay in the cache.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from npu_overlays import git, process
from npu_overlays.errors import Problem, SourceError
from npu_overlays.sources import cache as caching
from npu_overlays.sources.cache import Progress
from npu_overlays.sources.cache_trust import check
from npu_overlays.sources.git_fetch import headline
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.silent_hosts import wait_for

_TIMEOUT = 60 * 60
_ID = re.compile(r"[0-9a-f]{7,40}")
_KEPT = "refs/histories/"
# Git's message about a name that a reached repository lacks.
_LACKS = "couldn't find remote ref"


def kept(cache: Path, project: str) -> Path:
    """Return where the cache keeps the history of a project."""
    return cache / "histories" / f"{project}.git"


def history(
    pin: Pin, revisions: list[str], *, clone: Path | None, cache: Path, progress: Progress
) -> tuple[Path, dict[str, str]]:
    """Return a bare repository with the whole history of some revisions, and the commit that each of them names.

    Args:
        pin: names the repository and its mirrors.
        revisions: tags, branches, or commit ids of seven digits or more.
        clone: a clone of the user's to take them from instead.
        cache: the cache folder.
        progress: called with a line about what is being waited for.

    Raises:
        SourceError: with every revision that no repository gives.
        OutputError: the cache cannot be written, or others can write to it.
    """
    urls = [str(clone)] if clone else [url for url in (pin.repository, *pin.mirrors) if url]
    if not urls:
        what = "names no repository: a release archive has no history"
        fix = f"--upstream {pin.project}=PATH with a clone, or repository under tool.overlay.upstream"
        raise SourceError(Problem(where=pin.project, what=what, fix=fix))
    with caching.using(cache):
        folder = kept(cache, pin.project)
        check(cache, folder.parent)
        with caching.exclusive(cache, f"{pin.project}-history", progress):
            _init(cache, folder)
            said: dict[str, dict[str, str]] = {one: {} for one in revisions}
            found = {one: _found(folder, one, urls, progress, said[one]) for one in said}
            caching.close(folder, cache)
    missing = [_missing(one, urls, said[one], pin.project) for one, commit in found.items() if not commit]
    SourceError.raise_for(missing)
    return folder, found


def _init(cache: Path, folder: Path) -> None:
    if folder.is_dir():
        return
    with caching.workspace(cache) as work:
        made = work / "history.git"
        git.alone("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(made))
        caching.publish(cache, made, folder)


def _missing(revision: str, urls: list[str], said: Mapping[str, str], project: str) -> Problem:
    """Return an error for a missing revision, with git's words, and whether any repository was reached."""
    asked: list[str] = []
    unreached: list[str] = []
    for url in urls:
        shown = process.without_credentials(url)
        (unreached if url in said and _LACKS not in said[url] else asked).append(shown)
    fix = "name a tag, a branch or a commit id that the repository has"
    parts = [f"not found in {', '.join(asked)}"] if asked else []
    if unreached:
        parts.append(f"{', '.join(unreached)} could not be reached")
        fix = f"see that `git ls-remote {unreached[0]}` answers here, or --upstream {project}=PATH with a clone"
    return Problem(where=revision, what="; ".join((*parts, *dict.fromkeys(said.values()))), fix=fix)


def _found(folder: Path, revision: str, urls: list[str], progress: Progress, said: dict[str, str]) -> str:
    """Return the commit that a revision names, fetched if necessary; a branch may move every day.

    Git's messages about failed fetches go into `said`, by repository.
    """
    # Servers give out names and whole ids; a short id is part of what leads to the newest commit, if anything.
    wanted_names = [revision]
    if _ID.fullmatch(revision):
        if commit := _resolved(folder, revision):
            return commit
        wanted_names.append("HEAD")
    for url in urls:
        for wanted in wanted_names:
            if _fetched(folder, url, wanted, progress, said):
                named = f"{_KEPT}{_plain(wanted)}" if wanted == revision else revision
                if commit := _resolved(folder, named):
                    return commit
    return ""


def _fetched(folder: Path, url: str, wanted: str, progress: Progress, said: dict[str, str]) -> bool:
    shown = process.without_credentials(url)
    progress(f"fetching the history of {wanted} from {shown}")
    options = ("--progress", "--force", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    try:
        git.watched(
            *(f"--git-dir={folder}", "fetch", *options, "--", url, f"{wanted}:{_KEPT}{_plain(wanted)}"),
            settings=("fetch.unpackLimit=1", "protocol.version=2"),
            env={"GIT_NO_LAZY_FETCH": "0"},
            patience=wait_for(url),
            timeout=_TIMEOUT,
            heard=lambda line, _: progress(f"{shown}: {line}"),
        )
    except process.ProcessError as error:
        said[url] = headline(error.output or str(error))
        progress(f"{shown}: {said[url]}")
        return False
    # The repository answers, even if another name failed: for an id that it lacks it has another message.
    said.pop(url, None)
    return True


def _resolved(folder: Path, revision: str) -> str:
    try:
        found = git.alone(
            f"--git-dir={folder}", "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    except process.ProcessError:
        return ""
    return found.decode().strip()


def _plain(wanted: str) -> str:
    return re.sub(r"[^\w/.-]|\.\.|^[/.-]|//", "_", wanted)
