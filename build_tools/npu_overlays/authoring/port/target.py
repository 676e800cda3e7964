"""Target: an overlay's pin and a revision that a user names → the commit or release to pin instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from npu_overlays.errors import Problem, SourceError
from npu_overlays.progress import step
from npu_overlays.sources import acquisition
from npu_overlays.sources.histories import history
from npu_overlays.sources.pin import Archive, Pin
from npu_overlays.sources.releases import find_release
from npu_summary.plurals import plural


@dataclass(frozen=True, kw_only=True)
class PortTarget:
    """The new pin of a port.

    Args:
        pin: the new one.
        history: a bare repository with the commits between; None if only a release is known.
        notes: about the choice of the pin, for the user.
    """

    pin: Pin
    history: Path | None
    notes: tuple[str, ...] = ()


def find_target(pin: Pin, to: str, clone: Path | None) -> PortTarget:
    """Return the pin that a tag, a branch, a commit id or a version names.

    If git has a commit of that name, it is pinned, and beside it the release of that version, if all files that both
    have are the same. If they differ, the named one is pinned: the commit by its tag, the release by its version.

    Args:
        pin: of the overlay now.
        to: the new one, as named.
        clone: a clone of the user's to take commits from.

    Raises:
        SourceError: neither git nor an index has it.
    """
    problems: list[Problem] = []
    commit, tag, repository = _commit(pin, to, clone, problems)
    version = _version(to, digits=not (pin.repository or clone))
    archive = _release(pin, version, problems) if version else None
    bare = replace(pin, commit=commit, tag=tag, archives=())
    if archive is None:
        if not commit:
            raise SourceError(problems or _unnamed(pin, to))
        is_missed = version and problems
        notes = (f"no release archive is pinned beside the commit: {problems[-1].what}",) if is_missed else ()
        return PortTarget(pin=bare, history=repository, notes=notes)
    release = replace(pin, commit="", tag="", archives=(archive,))
    if not commit:
        return PortTarget(pin=release, history=None)
    named = tag or commit[:9]
    step(f"comparing {archive.file} with {named}")
    differing = _differing(bare, release, repository)
    if not differing:
        return PortTarget(pin=replace(bare, archives=(archive,)), history=repository)
    what = f"{named} is not what {archive.file} was made from: {plural(len(differing), 'file')} changed"
    what += f", {differing[0]} first"
    if to == version:
        notes = (f"{what}; the release is pinned; name {tag} for the commit",)
        return PortTarget(pin=release, history=None, notes=notes)
    return PortTarget(pin=bare, history=repository, notes=(f"{what}; the commit is pinned",))


def _commit(pin: Pin, to: str, clone: Path | None, problems: list[Problem]) -> tuple[str, str, Path | None]:
    """Return the commit, its tag if that was named, and the repository that has it; empty and None if none has it."""
    if not (pin.repository or clone):
        return "", "", None
    names = [f"v{to}", to] if to == _version(to) else [to]
    known = [pin.commit] if pin.commit else []
    for name in names:
        try:
            repository, found = history(pin, [name, *known], clone=clone, cache=acquisition.cache_root(), progress=step)
        except SourceError as error:
            problems += error.problems
            continue
        return found[name], name if _version(name) else "", repository
    return "", "", None


def _release(pin: Pin, version: str, problems: list[Problem]) -> Archive | None:
    """Return the file of a release that is most like the pinned one; None if there is no such release."""
    like = pin.archives[0].file if pin.archives else ""
    try:
        cache = acquisition.cache_root().absolute()
        return find_release(pin.project, version, like=like, cache=cache, progress=step).archive
    except SourceError as error:
        problems += error.problems
        return None


def _version(to: str, *, digits: bool = False) -> str:
    """Return the version that a name stands for; empty if it is none.

    Args:
        to: the name.
        digits: whether digits without a dot are a version; with a repository, they may be the beginning of a commit id.
    """
    text = to.removeprefix("v")
    try:
        Version(text)
    except InvalidVersion:
        return ""
    return text if digits or "." in text else ""


def _unnamed(pin: Pin, to: str) -> Problem:
    what = f"is no version, and {pin.project} names no repository in which it could be a commit, tag or branch"
    fix = f"name a release, 1.2.3 say; or a clone, --upstream {pin.project}=PATH"
    return Problem(where=f"--to {to}", what=what, fix=fix)


def _differing(bare: Pin, release: Pin, repository: Path | None) -> list[str]:
    """Return the shipped files that a commit and a release both have, and that differ."""
    commit = acquisition.acquire(bare, local=repository, progress=step, read=False)
    archive = acquisition.acquire(release, mode="archive", progress=step)
    differing: list[str] = []
    for path in commit.entries.keys() & archive.entries.keys():
        if bare.place(path) and commit.entries[path].blob != archive.entries[path].blob:
            differing.append(path)
    return sorted(differing)
