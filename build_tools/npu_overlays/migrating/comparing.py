"""Comparing: what a hand-written summary lists, and what the patches do → where it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from npu_overlays.changes.tree_comparison import ChangedFile
from npu_overlays.migrating.layout import PatchSet
from npu_overlays.migrating.ledger import Entry, Ledger, ListedFile, ListedVersion
from npu_overlays.model.selectors import leaf_of

FindingKind = Literal["not there", "not listed", "wrong owner", "wrong kind", "wrong action"]

_UPDATED = "updated"
# Words for what a change is of; any other word is the author's own, and says nothing that could be wrong.
_KINDS: Mapping[str, frozenset[str]] = {
    "class": frozenset({"class"}),
    "method": frozenset({"method"}),
    "function": frozenset({"method"}),
    "attribute": frozenset({"attribute", "import"}),
    "module_attr": frozenset({"attribute", "import"}),
    "import": frozenset({"import"}),
}
# What a summary by symbols cannot say.
_UNSAYABLE = frozenset({"text", "order", "file"})


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One place where a summary is wrong.

    Args:
        kind: how.
        where: the line of the summary, or the patch that it says nothing of.
        what: what is listed, or is not.
        said: what the summary says of it.
        found: what the patches do.
    """

    kind: FindingKind
    where: str
    what: str
    said: str = ""
    found: str = ""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How a summary compares: its findings, how many entries are right and wrong, how many changes are not listed."""

    findings: tuple[Finding, ...]
    right: int
    wrong: int
    unlisted: int


@dataclass(frozen=True, kw_only=True)
class Done:
    """What a set of patches does: the changes of each patch, by its name."""

    patches: PatchSet
    changes: Mapping[str, tuple[ChangedFile, ...]]


@dataclass(frozen=True, kw_only=True)
class _Actual:
    """One change that a patch makes."""

    symbol: str
    kind: str
    action: str
    wanted: bool


def compare(ledger: Ledger, done: Sequence[Done], *, whole: bool) -> Comparison:
    """Return where a summary is wrong.

    Args:
        ledger: the summary.
        done: what the patches do.
        whole: whether these are all the patches there are, so that what is listed beside them is not there.
    """
    findings: list[Finding] = []
    right = 0
    for one in done:
        version = ledger.version(one.patches.project, one.patches.revision)
        if version is None:
            what = f"the patches of {one.patches.name}"
            findings.append(Finding(kind="not listed", where=str(one.patches.folder), what=what))
        else:
            found, number = _version(ledger, version, one)
            findings += found
            right += number
    if whole:
        findings += _besides(ledger, done)
    unlisted = sum(one.kind == "not listed" for one in findings)
    return Comparison(findings=tuple(findings), right=right, wrong=len(findings) - unlisted, unlisted=unlisted)


def _besides(ledger: Ledger, done: Iterable[Done]) -> Iterator[Finding]:
    """Yield versions that are listed and have no patches, and revisions that no version has."""
    known = {(one.patches.project, one.patches.revision) for one in done}
    for version in ledger.versions:
        if (version.repo, version.folder) not in known:
            what = f"the patches of {version.repo}/{version.folder}"
            yield Finding(kind="not there", where=f"{ledger.file}:{version.line}", what=what)
    for repo, revision, line in ledger.current:
        if revision not in [one.revision for one in ledger.versions if one.repo == repo]:
            what = f"the version {revision} that {repo} is said to be at"
            yield Finding(kind="not there", where=f"{ledger.file}:{line}", what=what)


def _version(ledger: Ledger, version: ListedVersion, done: Done) -> tuple[list[Finding], int]:
    findings: list[Finding] = []
    right = 0
    seen: set[tuple[str, str]] = set()
    for listed in _joined(version.files, done):
        units = _units(listed, done, seen)
        seen |= {(patch, change.path) for patch, change in units}
        where = f"{ledger.file}:{listed.line}"
        if not units:
            what = f"the patch {listed.name} of {done.patches.name}"
            findings.append(Finding(kind="not there", where=where, what=what))
            continue
        found, number = _File(ledger, listed, units, done).compared()
        findings += found
        right += number
    for patch, changes in done.changes.items():
        if not any((patch, change.path) in seen for change in changes):
            what = f"the patch {patch} of {done.patches.name}"
            findings.append(Finding(kind="not listed", where=str(done.patches.folder / patch), what=what))
    return findings, right


def _joined(files: Iterable[ListedFile], done: Done) -> list[ListedFile]:
    """Return what is listed, a patch that is listed more than once as one."""
    found: dict[object, ListedFile] = {}
    for number, one in enumerate(files):
        patch = next((name for name in done.changes if one.name in (name, name.removesuffix(".patch"))), None)
        # What is called after a file may be another one each time.
        key = number if patch is None else patch
        known = found.get(key)
        found[key] = replace(known, entries=(*known.entries, *one.entries)) if known else one
    return list(found.values())


def _units(listed: ListedFile, done: Done, seen: set[tuple[str, str]]) -> list[tuple[str, ChangedFile]]:
    """Return what a listed file means: all that the patch of that name does, or one file that is called so."""
    every = [(patch, change) for patch, changes in done.changes.items() for change in changes]
    of_patch = [one for one in every if listed.name in (one[0], one[0].removesuffix(".patch"))]
    of_file = [one for one in every if one[1].path.rpartition("/")[2].removesuffix(".py") == listed.name]
    left = [(patch, change) for patch, change in of_file if (patch, change.path) not in seen]
    return of_patch or left[:1]


class _File:
    """What a summary lists of a patch, and what that does."""

    def __init__(
        self, ledger: Ledger, listed: ListedFile, units: Sequence[tuple[str, ChangedFile]], done: Done
    ) -> None:
        self._ledger = ledger
        self._listed = listed
        self._name = f"{done.patches.name}/{listed.name}"
        self._place = done.patches.folder / units[0][0]
        self._actual = {one.symbol: one for _, change in units for one in _actual(change)}
        listed_here = {change.path for _, change in units}
        self._elsewhere = {
            one.symbol: patch
            for patch, changes in done.changes.items()
            for change in changes
            if change.path not in listed_here
            for one in _actual(change)
        }
        self._symbols = {entry.symbol for entry in listed.entries}
        self._claimed: set[str] = set()

    def compared(self) -> tuple[list[Finding], int]:
        """Return the findings, and how many entries are right."""
        findings: list[Finding] = []
        right = 0
        for entry in self._listed.entries:
            finding = self._entry(entry)
            if finding:
                findings.append(finding)
            elif entry.symbol in self._actual:
                right += 1
        for one in self._actual.values():
            if one.wanted and one.symbol not in self._claimed:
                what, found = f"{self._name}: {one.symbol}", f"{one.action} {one.kind}"
                findings.append(Finding(kind="not listed", where=str(self._place), what=what, found=found))
        return findings, right

    def _entry(self, entry: Entry) -> Finding | None:
        """Return what is wrong with an entry, or None."""
        actual = self._actual.get(entry.symbol)
        if actual is None:
            return None if entry.groups and entry.action in ("", _UPDATED) else self._missing(entry)
        self._claimed.add(entry.symbol)
        if actual.kind not in _KINDS.get(entry.kind, {actual.kind}):
            return self._finding("wrong kind", entry, said=entry.kind, found=actual.kind)
        if entry.action != actual.action and not (entry.groups and not entry.action):
            return self._finding("wrong action", entry, said=entry.action or "nothing", found=actual.action)
        return None

    def _missing(self, entry: Entry) -> Finding:
        leaf = leaf_of(entry.symbol)
        others = [name for name in self._actual if leaf_of(name) == leaf and name not in self._symbols]
        if others:
            self._claimed.update(others)
            return self._finding("wrong owner", entry, said=entry.symbol, found=" and ".join(others))
        there = self._elsewhere.get(entry.symbol, "")
        return self._finding("not there", entry, said=entry.action, found=f"{there} changes it" if there else "")

    def _finding(self, kind: FindingKind, entry: Entry, *, said: str, found: str) -> Finding:
        where = f"{self._ledger.file}:{entry.line}"
        return Finding(kind=kind, where=where, what=f"{self._name}: {entry.symbol}", said=said, found=found)


def _actual(change: ChangedFile) -> Iterator[_Actual]:
    """Yield the changes of a file; of what came or went as a whole, its parts need not be listed."""
    partly = change.action == _UPDATED
    if not partly:
        yield _Actual(symbol=change.path.rpartition("/")[2], kind="file", action=change.action, wanted=False)
    for entry in change.class_changes:
        yield _Actual(symbol=entry.name, kind="class", action=entry.action, wanted=entry.action != _UPDATED)
        for one in entry.changes:
            wanted = entry.action == _UPDATED and one.kind not in _UNSAYABLE
            yield _Actual(symbol=one.symbol, kind=one.kind, action=one.action, wanted=wanted)
    for one in change.module_changes:
        wanted = one.kind == "method" or (partly and one.kind not in _UNSAYABLE)
        yield _Actual(symbol=one.symbol, kind=one.kind, action=one.action, wanted=wanted)
