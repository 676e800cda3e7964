"""Ledger comparison: the changes that a summary lists and those that the patches make → where it is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from npu_overlays.authoring.import_patches.ledger import Ledger, ListedChange, ListedFile, ListedVersion
from npu_overlays.authoring.import_patches.patch_folder import PatchSet
from npu_overlays.changes.tree_comparison import ChangedFile
from npu_overlays.model.selectors import leaf_of

FindingKind = Literal["not there", "not listed", "wrong owner", "wrong kind", "wrong action"]

_UPDATED = "updated"
# Words for kinds of changes; any other word is the author's own, and cannot be wrong.
_KINDS: Mapping[str, frozenset[str]] = {
    "class": frozenset({"class"}),
    "method": frozenset({"method"}),
    "function": frozenset({"method"}),
    "attribute": frozenset({"attribute", "import"}),
    "module_attr": frozenset({"attribute", "import"}),
    "import": frozenset({"import"}),
}
# Kinds that a summary by symbols cannot list.
_UNLISTABLE = frozenset({"text", "order", "file"})


@dataclass(frozen=True, kw_only=True)
class LedgerFinding:
    """One place where a summary is wrong."""

    kind: FindingKind
    where: str  # the line of the summary, or the patch that it does not list
    what: str  # the change that is listed, or is not
    # What the summary has for it, and what the patches do.
    said: str = ""
    found: str = ""


@dataclass(frozen=True, kw_only=True)
class LedgerComparison:
    """The findings, how many entries are right and wrong, and how many changes are not listed."""

    findings: tuple[LedgerFinding, ...]
    right: int
    wrong: int
    unlisted: int


@dataclass(frozen=True, kw_only=True)
class AppliedPatchSet:
    """A set of patches, and the changes that each patch makes, by its name."""

    patches: PatchSet
    changes: Mapping[str, tuple[ChangedFile, ...]]


@dataclass(frozen=True, kw_only=True)
class _Actual:
    """One change that a patch makes."""

    symbol: str
    kind: str
    action: str
    wanted: bool


def compare(ledger: Ledger, done: Sequence[AppliedPatchSet], *, whole: bool) -> LedgerComparison:
    """Return where a summary is wrong; where these are all patches there are, more in the summary is wrong."""
    findings: list[LedgerFinding] = []
    right = 0
    for one in done:
        version = ledger.version(one.patches.project, one.patches.revision)
        if version is None:
            what = f"the patches of {one.patches.name}"
            findings.append(LedgerFinding(kind="not listed", where=str(one.patches.folder), what=what))
        else:
            found, number = _version(ledger, version, one)
            findings += found
            right += number
    if whole:
        findings += _besides(ledger, done)
    unlisted = sum(one.kind == "not listed" for one in findings)
    return LedgerComparison(findings=tuple(findings), right=right, wrong=len(findings) - unlisted, unlisted=unlisted)


def _besides(ledger: Ledger, done: Iterable[AppliedPatchSet]) -> Iterator[LedgerFinding]:
    """Yield versions that are listed and have no patches, and revisions that no version has."""
    known = {(one.patches.project, one.patches.revision) for one in done}
    revisions: set[tuple[str, str]] = set()
    for version in ledger.versions:
        revisions.add((version.repo, version.revision))
        if (version.repo, version.folder) not in known:
            what = f"the patches of {version.repo}/{version.folder}"
            yield LedgerFinding(kind="not there", where=f"{ledger.file}:{version.line}", what=what)
    for repo, revision, line in ledger.current:
        if (repo, revision) not in revisions:
            what = f"the version {revision} that the summary names for {repo}"
            yield LedgerFinding(kind="not there", where=f"{ledger.file}:{line}", what=what)


def _version(ledger: Ledger, version: ListedVersion, done: AppliedPatchSet) -> tuple[list[LedgerFinding], int]:
    findings: list[LedgerFinding] = []
    right = 0
    seen: set[tuple[str, str]] = set()
    for listed in _joined(version.files, done):
        units = _units(listed, done, seen)
        seen |= {(patch, change.path) for patch, change in units}
        where = f"{ledger.file}:{listed.line}"
        if not units:
            what = f"the patch {listed.name} of {done.patches.name}"
            findings.append(LedgerFinding(kind="not there", where=where, what=what))
            continue
        found, number = _File(ledger, listed, units, done).compared()
        findings += found
        right += number
    for patch, changes in done.changes.items():
        if not any((patch, change.path) in seen for change in changes):
            what = f"the patch {patch} of {done.patches.name}"
            findings.append(LedgerFinding(kind="not listed", where=str(done.patches.folder / patch), what=what))
    return findings, right


def _joined(files: Iterable[ListedFile], done: AppliedPatchSet) -> list[ListedFile]:
    """Return the listed files, with a patch that is listed more than once joined to one."""
    found: dict[object, ListedFile] = {}
    for number, one in enumerate(files):
        patch = next((name for name in done.changes if one.name in (name, name.removesuffix(".patch"))), None)
        # What is called after a file may be another one each time.
        key = number if patch is None else patch
        known = found.get(key)
        found[key] = replace(known, entries=(*known.entries, *one.entries)) if known else one
    return list(found.values())


def _units(listed: ListedFile, done: AppliedPatchSet, seen: set[tuple[str, str]]) -> list[tuple[str, ChangedFile]]:
    """Return what a listed file means: all changes of the patch of that name, or of the first file of that name."""
    of_patch: list[tuple[str, ChangedFile]] = []
    of_file: list[tuple[str, ChangedFile]] = []
    for patch, changes in done.changes.items():
        for change in changes:
            if listed.name in (patch, patch.removesuffix(".patch")):
                of_patch.append((patch, change))
            file = change.path.rpartition("/")[2].removesuffix(".py")
            if file == listed.name and (patch, change.path) not in seen:
                of_file.append((patch, change))
    return of_patch or of_file[:1]


class _File:
    """The changes that a summary lists for a patch, and those that the patch makes."""

    def __init__(
        self, ledger: Ledger, listed: ListedFile, units: Sequence[tuple[str, ChangedFile]], done: AppliedPatchSet
    ) -> None:
        self._ledger = ledger
        self._listed = listed
        self._name = f"{done.patches.name}/{listed.name}"
        self._place = done.patches.folder / units[0][0]
        self._actual: dict[str, _Actual] = {}
        listed_here: set[str] = set()
        for _, change in units:
            self._actual |= {one.symbol: one for one in _actual(change)}
            listed_here.add(change.path)
        # The patches that make other changes, by symbol.
        self._elsewhere: dict[str, str] = {}
        for patch, changes in done.changes.items():
            for change in changes:
                if change.path not in listed_here:
                    self._elsewhere |= {one.symbol: patch for one in _actual(change)}
        self._symbols = {entry.symbol for entry in listed.entries}
        self._claimed: set[str] = set()

    def compared(self) -> tuple[list[LedgerFinding], int]:
        """Return the findings, and how many entries are right."""
        findings: list[LedgerFinding] = []
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
                findings.append(LedgerFinding(kind="not listed", where=str(self._place), what=what, found=found))
        return findings, right

    def _entry(self, entry: ListedChange) -> LedgerFinding | None:
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

    def _missing(self, entry: ListedChange) -> LedgerFinding:
        leaf = leaf_of(entry.symbol)
        others = [name for name in self._actual if leaf_of(name) == leaf and name not in self._symbols]
        if others:
            self._claimed.update(others)
            return self._finding("wrong owner", entry, said=entry.symbol, found=" and ".join(others))
        there = self._elsewhere.get(entry.symbol, "")
        return self._finding("not there", entry, said=entry.action, found=f"{there} changes it" if there else "")

    def _finding(self, kind: FindingKind, entry: ListedChange, *, said: str, found: str) -> LedgerFinding:
        where = f"{self._ledger.file}:{entry.line}"
        return LedgerFinding(kind=kind, where=where, what=f"{self._name}: {entry.symbol}", said=said, found=found)


def _actual(change: ChangedFile) -> Iterator[_Actual]:
    """Yield the changes of a file; the parts of a file or class that came or went as a whole need not be listed."""
    partly = change.action == _UPDATED
    if not partly:
        yield _Actual(symbol=change.path.rpartition("/")[2], kind="file", action=change.action, wanted=False)
    for entry in change.class_changes:
        yield _Actual(symbol=entry.name, kind="class", action=entry.action, wanted=entry.action != _UPDATED)
        for one in entry.changes:
            wanted = entry.action == _UPDATED and one.kind not in _UNLISTABLE
            yield _Actual(symbol=one.symbol, kind=one.kind, action=one.action, wanted=wanted)
    for one in change.module_changes:
        wanted = one.kind == "method" or (partly and one.kind not in _UNLISTABLE)
        yield _Actual(symbol=one.symbol, kind=one.kind, action=one.action, wanted=wanted)
