"""Commits: a pin → exactly the blobs of its commit; or a tag → the id of the commit it names.

The commit is fetched into a bare repository that stays in the cache, and its blobs are read from the object database.
Nothing is checked out, so hooks, filters, line-ending conversion, submodules and export-ignore have no effect. The
user's git configuration decides how a URL is reached.
"""

from __future__ import annotations

import re
from pathlib import Path

from npu_overlays import git, process
from npu_overlays.errors import Problem, SourceError, listing
from npu_overlays.paths import faults
from npu_overlays.sources import cache as caching
from npu_overlays.sources.cache import Progress
from npu_overlays.sources.cache_trust import check
from npu_overlays.sources.deflated_members import Inflated, kept_members
from npu_overlays.sources.git_fetch import PINNED_TAG, FetchProgress, Route, fetch, fetch_ref, headline, init_bare
from npu_overlays.sources.git_objects import Blobs, DamagedError, list_commit
from npu_overlays.sources.pin import Pin
from npu_overlays.sources.silent_hosts import longer
from npu_overlays.sources.tree import FileEntry, Source, SourceTree


def acquire(pin: Pin, *, cache: Path, progress: Progress, route: Route, read: bool = True) -> SourceTree:
    """Return the pinned commit's files from the cache, fetching it first if necessary.

    Args:
        pin: the pinned commit.
        cache: the cache folder.
        progress: called with a line about what is being waited for.
        route: how to fetch it.
        read: whether shipped files are read at once, so that they stay available if the cache is removed.

    Raises:
        SourceError: the commit cannot be fetched (then an `UnreachableError`) or holds paths that cannot be built from.
        OutputError: the cache cannot be read or written, or holds what others can write.
    """
    with caching.using(cache):
        check(cache, kept(cache, pin.commit))
        try:
            if not holds(pin, cache):
                _fetch(pin, cache, route, progress)
            return _read(pin, cache, read=read)
        except DamagedError:
            # What an earlier run left is damaged: once more, from where it came.
            caching.discard(cache, kept(cache, pin.commit))
            _fetch(pin, cache, route, progress)
        try:
            return _read(pin, cache, read=read)
        except DamagedError as error:
            caching.discard(cache, kept(cache, pin.commit))
            raise _damaged(pin, cache, str(error)) from error


def kept(cache: Path, commit: str) -> Path:
    """Return where the cache keeps the bare repository that holds `commit`."""
    return cache / "commits" / f"{commit}.git"


def holds(pin: Pin, cache: Path) -> bool:
    """Return whether the cache has a repository for the pinned commit."""
    return kept(cache, pin.commit).is_dir()


def where(pin: Pin) -> str:
    """Return the name of a pin in messages."""
    return f"{pin.project} {pin.commit or pin.short}"


def _fetch(pin: Pin, cache: Path, route: Route, progress: Progress) -> None:
    destination = kept(cache, pin.commit)
    with caching.exclusive(cache, f"{pin.project}-{pin.commit}", progress):
        if not destination.is_dir():
            fetch(pin, cache=cache, destination=destination, route=route, progress=progress)


def _read(pin: Pin, cache: Path, *, read: bool) -> SourceTree:
    repository = kept(cache, pin.commit)
    listed = list_commit(repository, pin.commit)
    wrong = faults(item.path for item in listed)
    if wrong:
        what = f"the commit holds paths that cannot be unpacked safely: {listing(wrong)}"
        raise SourceError(Problem(where=where(pin), what=what, fix="pin another commit"))
    source = Source(kind="git", repository=pin.repository, commit=pin.commit)
    members = kept_members(source, pin, cache) if read else None
    entries: dict[str, FileEntry] = {}
    first: list[str] = []  # the packages, and upstream's files about itself beside them
    for item in listed:
        if item.regular:
            entries[item.path] = FileEntry(blob=item.blob, executable=item.executable)
            shipped = pin.place(item.path) and item.blob not in (members or {})
            if read and (shipped or "/" not in item.path):
                first.append(item.path)
    ids = {path: entry.blob for path, entry in entries.items()}
    content = Blobs(repository, ids, first, lambda said: _damaged(pin, cache, said))
    return SourceTree(
        entries=entries,
        content=Inflated(entries, members, content) if members else content,
        source=source,
        links=frozenset(item.path for item in listed if not item.regular),
    )


def _damaged(pin: Pin, cache: Path, said: str) -> SourceError:
    repository = kept(cache, pin.commit)
    fix = f"remove {repository} and build again"
    return SourceError(Problem(where=where(pin), what=f"the commit in the cache is damaged: {said}", fix=fix))


def find_tagged(pin: Pin, *, clone: Path | None, cache: Path, progress: Progress) -> str:
    """Return the id of the commit that the tag of a pin names.

    Args:
        pin: names the repository and the tag.
        clone: a clone of the user's to use instead.
        cache: the cache folder.
        progress: called with a line about what is being waited for.

    Raises:
        SourceError: there is no such tag, or the repository cannot be reached.
        OutputError: the cache cannot be written.
    """
    return _tag_in_clone(pin, clone) if clone else _fetch_tag(pin, cache, progress)


def _tag_in_clone(pin: Pin, clone: Path) -> str:
    try:
        return _named_commit(clone, f"refs/tags/{pin.tag}")
    except process.ProcessError as error:
        raise _no_tag(pin, str(clone)) from error


def _fetch_tag(pin: Pin, cache: Path, progress: Progress) -> str:
    shown = process.without_credentials(pin.repository)
    with caching.using(cache), caching.workspace(cache) as work:
        repository = work / "repository.git"
        init_bare(repository, cache)
        progress(f"{pin.project} {pin.tag}: fetching from {shown}")
        try:
            told = FetchProgress(pin, pin.repository, progress)
            fetch_ref(repository, pin.repository, f"refs/tags/{pin.tag}:{PINNED_TAG}", Route(urls=()), told)
            commit = _named_commit(repository, PINNED_TAG)
        except process.ProcessError as error:
            raise _tag_not_had(pin, shown, error) from error
        caching.publish(cache, repository, kept(cache, commit))
    return commit


def _named_commit(repository: Path, reference: str) -> str:
    found = git.configured("rev-parse", "--verify", f"{reference}^{{commit}}", cwd=repository)
    return found.decode().strip()


def _tag_not_had(pin: Pin, shown: str, error: process.ProcessError) -> SourceError:
    if re.search("couldn't find remote ref|Needed a single revision|expected commit type", str(error)):
        return _no_tag(pin, shown)
    fix = longer() if isinstance(error, process.SilentError) else f"see that `git ls-remote {shown}` answers here"
    return SourceError(Problem(where=shown, what=headline(str(error)), fix=fix))


def _no_tag(pin: Pin, place: str) -> SourceError:
    fix = f"name a tag that `git ls-remote --tags {place}` lists, or all 40 digits of a commit; a branch moves"
    return SourceError(Problem(where=place, what=f"has no tag `{pin.tag}` that names a commit", fix=fix))
