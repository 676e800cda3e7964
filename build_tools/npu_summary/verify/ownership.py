"""Ownership: the distributions on the path in; who claims our files, and whether the right ones are there, out."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from ..installed import load, normal_name
from .findings import Finding

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..changes import Changes
    from ..installed import Place
    from .distributions import Dist
    from .findings import Repair
    from .subjects import Subject

# suffix of the patched one's name, revision, perhaps a label, and the source of the bytes
_LOCAL = re.compile(r"[+.](?P<suffix>[a-z][a-z0-9]*)\.\d+(?:\.[a-z][a-z0-9]*)?\.[ga][0-9a-f]{7}$")


def suffix_of(version: str) -> str:
    """Return what a version of ours says the patched distribution's name ends in; empty for a version of others."""
    found = _LOCAL.search(version)
    return found["suffix"] if found else ""


def check(subject: Subject, places: Sequence[Place]) -> Iterator[Finding]:
    """Yield what is wrong with our own metadata, the companion, the paired distribution, and other owners."""
    yield from _companion(subject)
    yield from _others(subject)
    yield from _own(subject)
    yield from _pairs(subject, places)
    yield from _alone(subject, places)


def _companion(subject: Subject) -> Iterator[Finding]:
    name = normal_name(str(subject.changes.get("companion", "")) if subject.changes else subject.place.project)
    found = [one for one in subject.dists if one.key == name]
    same_root = {one.info for one in found if one.store.root == found[0].store.root}
    repairs = subject.installer.companion(name)
    if not found:
        what = f"no {name} {subject.version} (empty by design) is installed"
        cause = f"installed with --no-deps, or {name} was uninstalled; packages that require {name} will not work"
        yield _finding(subject, "companion missing", what, cause, repairs)
    elif len(same_root) > 1:
        what = f"{len(same_root)} distributions are called {name}: {', '.join(sorted(same_root))}"
        cause = _twice(subject, "an installer was interrupted, or one did not see what the other had installed")
        removed = subject.installer.remove([one.info for one in found if one.info in same_root])
        yield _finding(subject, "companion twice", what, cause, (*removed, *repairs))
    elif found[0].version != subject.version or found[0].editable:
        what, cause = _replaced(subject, found[0])
        yield _finding(subject, "companion replaced", what, cause, repairs)


def _replaced(subject: Subject, other: Dist) -> tuple[str, str]:
    """Say what stands where the companion belongs, and why."""
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


def _twice(subject: Subject, otherwise: str) -> str:
    """Say why metadata of several versions lies there."""
    return "`pip install --target` leaves the metadata of what was there" if subject.installer.targeted else otherwise


def _others(subject: Subject) -> Iterator[Finding]:
    """Yield every further distribution that claims files of ours."""
    project = subject.place.project
    for other in subject.dists:
        if other.store.root != subject.store.root or other in subject.own or other.key == normal_name(project):
            continue
        shared = sorted(other.claims(subject.roots).keys() & subject.files.keys())
        if shared:
            yield _finding(
                subject,
                "overwritten",
                f"{other.name} {other.version} claims {len(shared)} of our files; uninstalling it deletes them",
                "it ships the same package, and installers do not refuse that",
                (*subject.installer.uninstall(other.name), *subject.installer.reinstall()),
                tuple(shared),
            )


def _own(subject: Subject) -> Iterator[Finding]:
    again = subject.installer.reinstall()
    if not subject.own:
        elsewhere = next((one.store.root for one in subject.dists if one.key == normal_name(subject.name)), "")
        cause = f"only the folders were copied here; the metadata lies in {elsewhere}" if elsewhere else ""
        cause = cause or "only the folders were copied here, or its metadata was removed"
        yield _finding(subject, "unregistered", f"no metadata of {subject.name} beside its files", cause, again)
        return
    if len(subject.own) > 1:
        versions = ", ".join(one.info for one in subject.own)
        wrong = [one.info for one in subject.own if not one.info.endswith(f"-{subject.version}.dist-info")]
        cause = _twice(subject, "an upgrade was interrupted, or one tool did not see what another had installed")
        repairs = (*subject.installer.remove(wrong), *again)
        yield _finding(subject, "registered twice", f"{subject.name} is there as {versions}", cause, repairs)
        return
    yield from _registered(subject, subject.own[0], again)


def _registered(subject: Subject, own: Dist, again: tuple[Repair, ...]) -> Iterator[Finding]:
    """Yield what is wrong with the one metadata folder we have."""
    if own.version != subject.version:
        what = f"the metadata says {own.version}, the files are of {subject.version}"
        cause = "an upgrade was interrupted, or the files were copied from another build"
        yield _finding(subject, "registered as another build", what, cause, again)
        return
    record = own.record
    built = {path for path in subject.files if path not in record}
    if not record:
        what, paths = (
            "RECORD is missing or empty; installers cannot remove or replace the files",
            [f"{own.info}/RECORD"],
        )
    elif built:
        what, paths = f"RECORD does not list {len(built)} of the files built", sorted(built)
    else:
        what, paths = "files in the metadata folder are missing or differ from RECORD", _changed_metadata(own)
    if paths:
        cause = "edited, or the installation was interrupted"
        yield _finding(subject, "metadata damaged", what, cause, again, tuple(paths))


def _changed_metadata(own: Dist) -> list[str]:
    changed = []
    for path, digest in own.record.items():
        if not path.startswith(f"{own.info}/") or not digest:
            continue
        try:
            actual = hashlib.sha256(own.store.read(path)).hexdigest()
        except OSError:
            actual = ""
        if actual != digest:
            changed.append(path)
    return changed


def _pairs(subject: Subject, places: Sequence[Place]) -> Iterator[Finding]:
    for pair in _wanted(subject):
        requirement, name = f"{pair.distribution}=={pair.version}", normal_name(pair.distribution)
        repairs = subject.installer.other(pair.distribution, pair.builds or (pair.version,))
        found = next((one for one in subject.dists if one.key == name), None)
        place = next((one for one in places if normal_name(one.distribution) == name), None)
        made_for = f"{subject.name} was built for {requirement}{_of(pair.overlay, pair.revision)}"
        if place is None:
            cause = "installed with --no-deps, or uninstalled since"
            if found is not None:
                cause = f"{found.name} {found.version} is registered, but its files are gone"
            yield _finding(subject, "pair missing", f"{made_for}, which is not installed", cause, repairs)
            continue
        there = _built(place)
        actual = there["distribution"]["version"] if there else found.version if found else "unknown"
        overlay = (there["overlay"]["name"], str(there["overlay"]["revision"])) if there else ("", "")
        if _public(actual) != _public(pair.version) or (pair.overlay and overlay != (pair.overlay, pair.revision)):
            what = f"{made_for}; installed is {actual}{_of(*overlay)}"
            yield _finding(subject, "pair of another build", what, "one was upgraded without the other", repairs)


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """A distribution this one was made for: by name, public version, overlay and revision, and its full versions."""

    distribution: str
    version: str
    overlay: str = ""
    revision: str = ""
    builds: tuple[str, ...] = ()


def _wanted(subject: Subject) -> list[_Pair]:
    """Return what the summary says of paired distributions; wheels of before required an exact version."""
    pairs = subject.changes.get("pairs") if subject.changes else None
    if isinstance(pairs, list) and all(isinstance(one, dict) for one in pairs):
        keys = ("distribution", "version", "overlay", "revision")
        return [
            _Pair(**{key: str(one.get(key, "")) for key in keys}, builds=tuple(map(str, one.get("builds") or ())))
            for one in pairs
        ]
    exact = [one.partition("==") for one in _requirements(subject)]
    return [_Pair(distribution=name, version=version) for name, _, version in exact]


def _of(overlay: str, revision: str) -> str:
    return f" (overlay {overlay} revision {revision})" if overlay else ""


def _public(version: str) -> str:
    return version.partition("+")[0]


def _alone(subject: Subject, places: Sequence[Place]) -> Iterator[Finding]:
    """Yield companions of distributions that are gone; of those that only lost their metadata more is said elsewhere.

    So it is of those that this one requires.
    """
    required = [requirement.partition("==")[0] for requirement in _requirements(subject)]
    keys = {one.key for one in subject.dists}
    keys |= {normal_name(name) for name in (*required, *(place.distribution for place in places))}
    for one in subject.dists:
        suffix = suffix_of(one.version)
        if not suffix or one.key.endswith(f"-{suffix}"):
            continue
        patched = f"{one.key}-{suffix}"
        if patched not in keys and all(path.startswith(one.info) for path in one.record):
            what = (
                f"{one.name} {one.version} is empty by design, and {patched}, which holds its files, is not installed"
            )
            repairs = subject.installer.other(patched, [one.version])
            yield _finding(subject, "companion alone", what, f"{patched} was uninstalled without it", repairs)


def _requirements(subject: Subject) -> list[str]:
    """Return the exact requirements on paired distributions; a damaged summary may hold anything."""
    requirements = subject.changes.get("requires", []) if subject.changes else []
    return [str(one) for one in requirements] if isinstance(requirements, list) else []


def _built(place: Place) -> Changes | None:
    """Return a place's summary; None where it is damaged."""
    found = load([place]).changes
    return found[0] if found else None


def _finding(  # noqa: PLR0913, PLR0917  # the fields of a finding
    subject: Subject, kind: str, what: str, cause: str, repairs: tuple[Repair, ...], paths: tuple[str, ...] = ()
) -> Finding:
    return Finding(kind=kind, distribution=subject.name, what=what, cause=cause, repairs=repairs, paths=paths)
