"""Records: a subject → what is wrong with its metadata, its summary and its manifest, and who else claims its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import chain

from ..installed import DATA, MANIFEST, normal_name
from ..plurals import plural
from .companions import twice
from .distributions import Dist, sha256_of
from .findings import Finding, Repair
from .subjects import Subject

_MOVED = "~"  # what pip's name for a folder begins with that it is about to delete
_CAUSE = "edited, or the installation was interrupted"
_BINARY = re.compile(r"\.(so(\.\d+)*|pyd|dylib|dll)$")
# What stands between the name of a module and its ending says for which Python and machine it was compiled.
_TAGGED = re.compile(r"[^/.]+(\.(?:cpython-|cp|pypy|graalpy|abi)\d[-\w]*\.(?:so|pyd))$")


def check(subject: Subject) -> Iterator[Finding]:
    """Yield every other distribution that claims files of ours, and what is wrong with our metadata."""
    for other in subject.dists:
        is_companion = other.key == normal_name(subject.place.project)
        if other.store.root == subject.store.root and other not in subject.own and not is_companion:
            yield from _claims(subject, other)
    if not subject.own:
        elsewhere = next((one.store.root for one in subject.dists if one.key == normal_name(subject.name)), "")
        why = f"; the metadata lies in {elsewhere}" if elsewhere else ", or its metadata was removed"
        what = f"no metadata of {subject.name} beside its files"
        yield subject.finding("unregistered", what, f"only the folders were copied here{why}")
    elif len(subject.own) > 1:
        infos = [one.info for one in subject.own]
        wrong = [info for info in infos if not info.endswith(f"-{subject.version}.dist-info")]
        what = f"{subject.name} is there as {', '.join(infos)}"
        cause = twice(subject, "an upgrade was interrupted, or one tool did not see what another had installed")
        yield subject.finding("registered twice", what, cause, first=subject.installer.remove(wrong))
    else:
        yield from _metadata(subject, subject.own[0])


def _claims(subject: Subject, other: Dist) -> Iterator[Finding]:
    claimed = other.claims(subject.roots)
    shared: list[str] = []
    for path in sorted(claimed.keys() & {*subject.files, *subject.commands}):
        if sha256_of(claimed[path]) != subject.files.get(path) or not subject.is_shared(path):
            shared.append(path)
    if shared and other.info.startswith(_MOVED):
        what = f"{other.info} claims {len(shared)} of our files, and no installer ends it"
        cause = "pip moves what it uninstalls to such a name, and was interrupted"
        repairs = subject.installer.remove([other.info])
        yield subject.finding("interrupted uninstall", what, cause, paths=[f"{other.info}/"], repairs=repairs)
    elif shared:
        what = f"{other.name} {other.version} claims {len(shared)} of our files; uninstalling it deletes them"
        cause = "it ships files of the same names, and installers do not refuse that"
        first = subject.installer.uninstall(other.name)
        yield subject.finding("overwritten", what, cause, paths=shared, first=first)


def _metadata(subject: Subject, own: Dist) -> Iterator[Finding]:
    """Yield what is wrong with the one metadata folder there is."""
    if own.version != subject.version:
        what = f"the metadata says {own.version}, the files are of {subject.version}"
        cause = "an upgrade was interrupted, or the files were copied from another build"
        yield subject.finding("registered as another build", what, cause, first=subject.freed(own))
        return
    first: tuple[Repair, ...] = ()
    unlisted = sorted(set(subject.inside) - own.record.keys())
    if not own.record:
        what = "RECORD is missing or empty; installers cannot remove or replace the files"
        paths = [f"{own.info}/RECORD"]
    elif unlisted:
        what, paths = f"RECORD does not list {len(unlisted)} of the files built", unlisted
    elif not own.record.keys() >= {*own.commands}:
        what, paths = "entry points that RECORD does not list", own.commands
        first = subject.installer.remove(paths)
    else:
        what = "files in the metadata folder are missing or differ from RECORD"
        paths = own.differing(path for path in own.record if path.startswith(f"{own.info}/"))
    if paths:
        yield subject.finding("metadata damaged", what, _CAUSE, paths=paths, first=first or subject.freed(own))


def check_summary(subject: Subject) -> Iterator[Finding]:
    """Yield what keeps the summary or the manifest from being believed, and where the two disagree."""
    package = subject.place.package
    if subject.damage:
        yield subject.finding("summary damaged", f"{DATA}: {subject.damage}", _CAUSE, paths=[f"{package}/{DATA}"])
    if subject.built.damage:
        what, paths = f"{MANIFEST}: {subject.built.damage}", [f"{package}/{MANIFEST}"]
        if len(subject.files) > 1:
            yield subject.finding("manifest damaged", what, _CAUSE, paths=paths)
        else:
            what += "; and RECORD does not list the files either, so they could not be compared"
            yield subject.finding("manifest damaged", what, _CAUSE, paths=paths, level="unknown")
        return
    differing: list[str] = []
    files = subject.changes["files"] if subject.changes else []
    for one in files:
        if one["installed"] and subject.files.get(one["installed"]) != one["after"]:
            differing.append(one["installed"])
    if differing:
        what = f"the manifest and the summary disagree about {plural(len(differing), 'file')}"
        cause = "one of the two was edited, or they come from different builds"
        yield subject.finding("manifest damaged", what, cause, paths=sorted(differing))


def check_tags(subject: Subject) -> Iterator[Finding]:
    """Yield compiled files in a wheel that is tagged for any platform, and those made for another one than this."""
    compiled = sorted(filter(_BINARY.search, subject.files))
    named = subject.changes["not_built"] if subject.changes else ()
    unnamed: list[str] = []
    foreign: list[str] = []
    for path in compiled:
        if any(fnmatchcase(path, glob) or path.startswith(f"{glob}/") for glob in named):
            continue
        unnamed.append(path)
        # Of a module that is compiled for several Pythons one is enough.
        stem = path[: found.start(1)] if (found := _TAGGED.search(path)) else ""
        if stem and not any(f"{stem}{suffix}" in compiled for suffix in EXTENSION_SUFFIXES):
            foreign.append(path)
    tags = list(chain.from_iterable(one.tags for one in subject.own)) if unnamed else []
    if tags and all(tag.endswith("-any") for tag in tags):
        what = f"{plural(len(unnamed), 'compiled file')}, and its WHEEL file says that it is for any platform"
        cause = "its metadata was edited, or it was not built by npu-overlays"
        yield subject.finding("wrong tag", what, cause, paths=unnamed)
    if foreign:
        what = (
            f"{plural(len(foreign), 'compiled file')} that this Python cannot import: it takes {EXTENSION_SUFFIXES[0]}"
        )
        cause = f"installed for another Python or machine ({', '.join(tags) or 'WHEEL is missing'}), or copied from one"
        yield subject.finding("another platform", what, cause, paths=foreign)
