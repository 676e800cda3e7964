"""Tags: a repository and the name of a tag → the commit it names, in the cache afterwards."""

from __future__ import annotations

import re
from pathlib import Path

from npu_overlays import git, process
from npu_overlays.errors import Problem, SourceError
from npu_overlays.sources import cache as caching
from npu_overlays.sources.cache import Progress
from npu_overlays.sources.commits import kept
from npu_overlays.sources.git_fetch import PINNED_TAG, FetchProgress, Route, fetch_ref, headline, init_bare
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.silent_hosts import longer


def find_tagged(pin: Pin, *, clone: Path | None, cache: Path, progress: Progress) -> str:
    """Return the id of the commit that the tag of a pin names.

    Args:
        pin: names the repository and the tag.
        clone: a clone of the user's to look in instead.
        cache: the cache folder.
        progress: told what is being waited for.

    Raises:
        SourceError: there is no such tag, or the repository cannot be reached.
        OutputError: the cache cannot be written.
    """
    return _in_clone(pin, clone) if clone else _fetched(pin, cache, progress)


def _in_clone(pin: Pin, clone: Path) -> str:
    try:
        return _commit(clone, f"refs/tags/{pin.tag}")
    except process.ProcessError as error:
        raise _no_tag(pin, str(clone)) from error


def _fetched(pin: Pin, cache: Path, progress: Progress) -> str:
    shown = process.without_credentials(pin.repository)
    with caching.using(cache), caching.workspace(cache) as work:
        repository = work / "repository.git"
        init_bare(repository, cache)
        progress(f"{pin.project} {pin.tag}: fetching from {shown}")
        try:
            told = FetchProgress(pin, pin.repository, progress)
            fetch_ref(repository, pin.repository, f"refs/tags/{pin.tag}:{PINNED_TAG}", Route(urls=()), told)
            commit = _commit(repository, PINNED_TAG)
        except process.ProcessError as error:
            raise _failed(pin, shown, error) from error
        caching.publish(cache, repository, kept(cache, commit))
    return commit


def _commit(repository: Path, reference: str) -> str:
    found = git.configured("rev-parse", "--verify", f"{reference}^{{commit}}", cwd=repository)
    return found.decode().strip()


def _failed(pin: Pin, shown: str, error: process.ProcessError) -> SourceError:
    if re.search("couldn't find remote ref|Needed a single revision|expected commit type", str(error)):
        return _no_tag(pin, shown)
    fix = longer() if isinstance(error, process.SilentError) else f"see that `git ls-remote {shown}` answers here"
    return SourceError(Problem(where=shown, what=headline(str(error)), fix=fix))


def _no_tag(pin: Pin, place: str) -> SourceError:
    fix = (
        f"one that `git ls-remote --tags {place}` lists, or all 40 digits of a commit; a branch names another each day"
    )
    return SourceError(Problem(where=place, what=f"has no tag `{pin.tag}` that names a commit", fix=fix))
