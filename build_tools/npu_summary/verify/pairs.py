"""Pairs: a subject and the places on the path → patched distributions that should be there, and are not."""

from __future__ import annotations

from ..installed import SUFFIX, load, normal_name
from .companions import suffix_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..changes import Pair
    from ..installed import Place
    from .distributions import Dist
    from .findings import Finding
    from .subjects import Subject


def check(subject: Subject, places: Sequence[Place]) -> Iterator[Finding]:
    """Yield what this one was made for and is missing or another, and companions that are alone."""
    pairs = subject.changes["pairs"] if subject.changes else []
    for pair in pairs:
        yield from _pair(subject, pair, places)
    known = {*(pair["distribution"] for pair in pairs), *(place.distribution for place in places)}
    yield from _alone(subject, {normal_name(name) for name in known})


def _pair(subject: Subject, pair: Pair, places: Sequence[Place]) -> Iterator[Finding]:
    name, version = pair["distribution"], pair["version"]
    registered = next((one for one in subject.dists if one.key == normal_name(name)), None)
    place = next((one for one in places if normal_name(one.distribution) == normal_name(name)), None)
    wanted = (pair["overlay"], pair["revision"])
    made_for = f"{subject.name} was built for {name}=={version}{_overlay(*wanted)}"
    repairs = subject.installer.other(name, pair["builds"] or [version])
    if place is None:
        cause = "installed with --no-deps, or uninstalled since"
        if registered:
            cause = f"{registered.name} {registered.version} is registered, but its files are gone"
        yield subject.finding("pair missing", f"{made_for}, which is not installed", cause, repairs=repairs)
        return
    there = next(iter(load([place])[0]), None)
    actual = there["distribution"]["version"] if there else registered.version if registered else "unknown"
    overlay = (there["overlay"]["name"], there["overlay"]["revision"]) if there else ("", 0)
    if actual.partition("+")[0] != version.partition("+")[0] or overlay != wanted:
        what = f"{made_for}; installed is {actual}{_overlay(*overlay)}"
        yield subject.finding("pair of another build", what, "one was upgraded without the other", repairs=repairs)


def _overlay(name: str, revision: int) -> str:
    return f" (overlay {name} revision {revision})" if name else ""


def _alone(subject: Subject, known: set[str]) -> Iterator[Finding]:
    """Yield what is registered of patched distributions whose files are gone, but for those of which else is said."""
    registered = {one.key for one in subject.dists}
    for one in subject.dists:
        suffix = suffix_of(one.version)
        patched = one.key if one.key.endswith(f"-{suffix}") else f"{one.key}-{suffix}"
        if not suffix or patched in known or not (_has_summary(one) if one.key == patched else _is_empty(one)):
            continue
        known.add(patched)
        what, cause = f"{one.name} {one.version} is registered, and its files are not there", "they were deleted"
        if one.key != patched:
            what = f"{one.name} {one.version} holds none of its files by design, and {patched}, which does, "
            what += "has lost them" if patched in registered else "is not installed"
            cause = cause if patched in registered else f"{patched} was uninstalled without it"
        repairs = subject.installer.other(patched, [one.version])
        yield subject.finding("companion alone", what, cause, repairs=repairs)


def _has_summary(one: Dist) -> bool:
    """Return whether a patched distribution's summary is among the files that it claims."""
    return any(path.startswith(f"{one.key.replace('-', '_')}{SUFFIX}/") for path in one.record)


def _is_empty(one: Dist) -> bool:
    """Return whether a companion's metadata claims nothing else than companions hold."""
    return all(_is_companions(path, one.info) for path in one.record)


def _is_companions(path: str, info: str) -> bool:
    """Return whether a companion holds this: metadata, a module at the top, or its bytecode."""
    return path.startswith(info) or not path.removeprefix("__pycache__/").count("/")
