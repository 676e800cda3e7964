"""Target: an overlay's pin and what a user names → the commit or release that is to be pinned instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from npu_overlays import source
from npu_overlays.errors import Problem, SourceError
from npu_overlays.pin import Archive, Pin
from npu_overlays.progress import step
from npu_overlays.source.histories import history
from npu_overlays.source.releases import find_release
from npu_overlays.tree import SourceTree
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class Target:
    """What an overlay is ported to.

    Args:
        pin: what is to be pinned.
        history: a bare repository with the commits between, or None where only a release is known.
        notes: what was found out on the way and is worth saying.
    """

    pin: Pin
    history: Path | None
    notes: tuple[str, ...] = ()


def find_target(pin: Pin, to: str, clone: Path | None) -> Target:
    """Return what a user names by a tag, a branch, a commit id or a version.

    A commit is pinned where git has one of that name, and the release of that version beside it where every file that
    both hold is the same; where it is not, the commit is pinned if its own name was given, and the release if its
    version was.

    Args:
        pin: the pin an overlay has now.
        to: what it is to have.
        clone: a clone of the user's to take commits from.

    Raises:
        SourceError: neither git nor an index has that.
    """
    problems: list[Problem] = []
    commit, tag, repository = _commit(pin, to, clone, problems)
    has_history = bool(pin.repository or clone)
    version = _version(to, digits=not has_history)
    archive = _release(pin, version, problems) if version else None
    bare = replace(pin, commit=commit, tag=tag, archives=())
    if archive is None:
        if not commit:
            raise SourceError(problems or _no_name(pin, to))
        return Target(pin=bare, history=repository, notes=_no_archive(version, problems))
    release = replace(pin, commit="", tag="", archives=(archive,))
    if not commit:
        return Target(pin=release, history=None)
    step(f"comparing {archive.file} with {tag or commit[:9]}")
    differing = _differing(bare, release, repository)
    if not differing:
        return Target(pin=replace(bare, archives=(archive,)), history=repository)
    named = to == version
    what = f"{tag or commit[:9]} is not what {archive.file} was made from: {plural(len(differing), 'file')} changed"
    chosen = f"the release is pinned; name {tag} for the commit" if named else "the commit is pinned"
    notes = (f"{what}, {differing[0]} first; {chosen}",)
    return (
        Target(pin=release, history=None, notes=notes) if named else Target(pin=bare, history=repository, notes=notes)
    )


def _no_archive(version: str, problems: list[Problem]) -> tuple[str, ...]:
    return (f"no release archive is pinned beside the commit: {problems[-1].what}",) if version and problems else ()


def _commit(pin: Pin, to: str, clone: Path | None, problems: list[Problem]) -> tuple[str, str, Path | None]:
    """Return the commit, the tag where that names it, and the repository that holds it."""
    names = [f"v{to}", to] if to == _version(to) else [to]
    known = [pin.commit] if pin.commit else []
    for name in names if pin.repository or clone else ():
        try:
            repository, found = history(pin, [name, *known], clone=clone, cache=source.cache_root(), progress=step)
        except SourceError as error:
            problems += error.problems
            continue
        return found[name], name if _version(name) else "", repository
    return "", "", None


def _release(pin: Pin, version: str, problems: list[Problem]) -> Archive | None:
    """Return the file of a release that is most like the one pinned now."""
    like = pin.archives[0].file if pin.archives else ""
    try:
        cache = source.cache_root().absolute()
        return find_release(pin.project, version, like=like, cache=cache, progress=step).archive
    except SourceError as error:
        problems += error.problems
        return None


def _version(to: str, *, digits: bool = False) -> str:
    """Return the version that a name of a release stands for, or an empty text where it is none.

    Args:
        to: the name.
        digits: whether digits alone are one; where there are commits, they may begin the id of one.
    """
    text = to.removeprefix("v")
    try:
        Version(text)
    except InvalidVersion:
        return ""
    return text if digits or "." in text else ""


def _no_name(pin: Pin, to: str) -> Problem:
    what = f"is no version, and {pin.project} names no repository in which it could be a commit, tag or branch"
    fix = f"name a release, 1.2.3 say; or a clone, --upstream {pin.project}=PATH"
    return Problem(where=f"--to {to}", what=what, fix=fix)


def _differing(bare: Pin, release: Pin, repository: Path | None) -> list[str]:
    """Return the shipped files that a commit and a release both hold and that are not the same."""
    commit = source.acquire(bare, local=repository, progress=step, read=False)
    archive = source.acquire(release, mode="archive", progress=step)
    return sorted(_unequal(bare, commit, archive))


def _unequal(pin: Pin, one: SourceTree, other: SourceTree) -> Iterator[str]:
    for path in one.entries.keys() & other.entries.keys():
        if pin.place(path) and one.entries[path].blob != other.entries[path].blob:
            yield path
