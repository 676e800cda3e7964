"""Companions: a subject → what is wrong with what goes with it.

That is the distribution under upstream's name, which holds none of its files, and the patched ones it was made for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..changes import Pair
from ..installed import SUFFIX, Place, load, normal_name
from ..versions import local_parts
from .distributions import Dist
from .findings import Finding, Repair
from .subjects import Subject


def suffix_of(version: str) -> str:
    """Return what a version of ours says the patched distribution's name ends in; empty for a version of others."""
    return local_parts(version).get("suffix", "")


def check(subject: Subject) -> Iterator[Finding]:
    """Yield whether the companion is missing, there several times, something else, or damaged."""
    name = subject.companion
    found = [one for one in subject.dists if one.key == name]
    beside = {one.info for one in found if one.store.root == found[0].store.root}
    if not found:
        what = f"no {name} {subject.version} (which holds none of its files, by design) is installed"
        cause = f"installed with --no-deps, or {name} was uninstalled; packages that require {name} will not work"
        yield subject.finding("companion missing", what, cause, repairs=subject.installer.companion(name))
    elif len(beside) > 1:
        what = f"{len(beside)} distributions are called {name}: {', '.join(sorted(beside))}"
        cause = twice(subject, "an installer was interrupted, or one did not see what the other had installed")
        removed = subject.installer.remove([one.info for one in found if one.info in beside])
        yield subject.finding("companion twice", what, cause, repairs=(*removed, *_repairs(subject, found[0])))
    elif found[0].version != subject.version or found[0].editable:
        what, cause = _instead(subject, found[0])
        yield subject.finding("companion replaced", what, cause, repairs=_repairs(subject, found[0]))
    elif damaged := _damaged(found[0]):
        what = f"its metadata, or what is to say that {subject.name} is not there, should it be uninstalled,"
        what += " is not what was installed"
        repairs = (*subject.installer.remove(found[0].commands), *_repairs(subject, found[0]))
        yield subject.finding("companion damaged", what, "edited, or removed", paths=damaged, repairs=repairs)


def _repairs(subject: Subject, found: Dist) -> tuple[Repair, ...]:
    """Return the repairs that replace a distribution with the companion of that name."""
    return (*subject.freed(found), *subject.installer.companion(found.key))


def twice(subject: Subject, otherwise: str) -> str:
    """Return why metadata of several versions lies in one folder."""
    return "`pip install --target` leaves the metadata of what was there" if subject.installer.targeted else otherwise


def _damaged(companion: Dist) -> list[str]:
    """Return the metadata and modules of a companion that are missing, unreadable or differ from its RECORD.

    Entry points, too, even if RECORD lists them: a companion is built without any.
    """
    listed: list[str] = []
    for path in companion.record:
        if path.startswith(f"{companion.info}/") or ("/" not in path and path.endswith(".py")):
            listed.append(path)
    return list(dict.fromkeys([*companion.unusable, *companion.commands, *companion.differing(listed)]))


def _instead(subject: Subject, other: Dist) -> tuple[str, str]:
    """Return what stands where the companion belongs, and why."""
    claimed = other.claims(subject.roots) if other.store.root == subject.store.root else {}
    ours = len(claimed.keys() & subject.files.keys())
    what = f"{other.name} {other.version} is installed instead of {other.name} {subject.version}"
    if ours:
        what += f", and claims {ours} of our files"
    if other.editable:
        return what, f"an editable install of {other.editable}"
    if suffix_of(other.version):
        return what, f"{subject.name} and its companion were upgraded one without the other"
    return what, f"upstream's own {other.name} was installed afterwards, as a dependency or by hand"


def check_pairs(subject: Subject, places: Sequence[Place]) -> Iterator[Finding]:
    """Yield what this one was made for and is missing or another, and companions that are alone."""
    known = {normal_name(place.distribution) for place in places}
    pairs = subject.changes["pairs"] if subject.changes else []
    for pair in pairs:
        known.add(normal_name(pair["distribution"]))
        yield from _pair(subject, pair, places)
    yield from _alone(subject, known)


def _pair(subject: Subject, pair: Pair, places: Sequence[Place]) -> Iterator[Finding]:
    name, version = pair["distribution"], pair["version"]
    registered = next((one for one in subject.dists if one.key == normal_name(name)), None)
    place = next((one for one in places if normal_name(one.distribution) == normal_name(name)), None)
    wanted = (pair["overlay"], pair["revision"])
    made_for = f"{subject.name} was built for {name}=={version}{_overlay(*wanted)}"
    builds = pair["builds"] or [version]
    if place is None:
        cause = "installed with --no-deps, or uninstalled since"
        if registered:
            cause = f"{registered.name} {registered.version} is registered, but its files are gone"
        repairs = subject.installer.other(name, builds)
        yield subject.finding("pair missing", f"{made_for}, which is not installed", cause, repairs=repairs)
        return
    actual, overlay = registered.version if registered else "unknown", ("", 0)
    for there in load([place])[0]:
        actual = there["distribution"]["version"]
        overlay = (there["overlay"]["name"], there["overlay"]["revision"])
    if actual.partition("+")[0] != version.partition("+")[0] or overlay != wanted:
        what = f"{made_for}; installed is {actual}{_overlay(*overlay)}"
        repairs = subject.installer.other(name, builds)
        yield subject.finding("pair of another build", what, "one was upgraded without the other", repairs=repairs)


def _overlay(name: str, revision: int) -> str:
    return f" (overlay {name} revision {revision})" if name else ""


def _alone(subject: Subject, known: set[str]) -> Iterator[Finding]:
    """Yield patched distributions that are registered and whose files are gone, but for those in other findings."""
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
    """Return whether a companion claims only what companions hold: metadata, modules at the top, their bytecode."""
    return all(path.startswith(one.info) or "/" not in path.removeprefix("__pycache__/") for path in one.record)
