"""Parts: an overlay's content and another state of upstream → the verdict on each part, and the commit behind it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeAlias

from npu_overlays.authoring.port.change_sentences import changed_names
from npu_overlays.authoring.port.classifier import Classifier
from npu_overlays.authoring.port.history import BlobCache, UpstreamHistory
from npu_overlays.authoring.port.text_verdicts import SubstitutionVerdicts, file_verdict, patch_verdicts
from npu_overlays.authoring.port.upstream_commits import LandedCommits, UpstreamCommit
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import DefinedNames, Snapshot
from npu_overlays.contracts.changed_reads import ChangedRead
from npu_overlays.errors import listing
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import LayerContent, OverlayFile, SourcedEdit
from npu_overlays.overlay.operations import Operation

Statement: TypeAlias = Operation | SourcedEdit | OverlayFile


# Kinds whose causes are named after the commit.
_GONE = frozenset({"retired", "left", "already gone"})
_LONGEST = 60
# Where upstream's text has it: the same change has other lines in each file.
_LINES = re.compile(r" \(lines? [\d, …]+\)")


@dataclass(frozen=True, kw_only=True)
class PortedPart:
    """One part of an overlay.

    Args:
        statement: the operation, substitution, patch or added file.
        action: of an operation, else ``edit``, ``patch`` or ``file``.
        name: as a `drop` names it: ``path:symbol``, the path of a file, or the name of a patch.
        where: file and line in the overlay.
        verdict: on it.
        commit: upstream's that caused the verdict, if it is known.
    """

    statement: Statement
    action: str
    name: str
    where: str
    verdict: Verdict
    commit: UpstreamCommit | None = None

    @property
    def layer(self) -> str:
        """The layer that states it."""
        return self.statement.layer

    @property
    def symbol(self) -> str:
        """The symbol of an operation; empty for other parts."""
        return self.name.partition(":")[2]

    @property
    def is_open(self) -> bool:
        """Whether somebody has to decide: it does not apply, and locking it again is not enough."""
        return not self.verdict.applies and self.verdict.proposal != "relock"

    @property
    def said(self) -> str:
        """Upstream's change, in the same words for every part that it concerns; each line is a sentence."""
        verdict = self.verdict
        evidence = _LINES.sub("", verdict.evidence)
        return verdict.change or (evidence if verdict.kind == "body changed" else f"{verdict.kind}: {evidence}")

    @property
    def cause(self) -> str:
        """The name of that change, by which a person decides about all of its parts.

        Parts that have a proposal and parts that are left to a person are no one decision, so the name tells them
        apart.
        """
        name = "-".join(re.findall(r"[\w./]+", self.said))
        if self.commit and self.verdict.kind in _GONE:
            name = f"gone-in-{self.commit.id[:9]}"
        elif len(name) > _LONGEST:
            # Two long texts must not get the same name.
            name = f"{name[:_LONGEST]}-{sha256(self.said.encode()).hexdigest()[:4]}"
        return f"{name}-to-decide" if self.is_open and not self.verdict.proposal else name

    @property
    def identity(self) -> tuple[str, str, str]:
        """Its action, name and place, the same in every step of a port."""
        return self.action, self.name, self.where

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        verdict = self.verdict
        return {
            "action": self.action,
            "target": self.name,
            "layer": self.layer,
            "where": self.where,
            "kind": verdict.kind,
            "applies": verdict.applies,
            "proposal": verdict.proposal,
            "to": verdict.to,
            "likeness": verdict.likeness,
            "evidence": verdict.evidence,
            "commit": self.commit.as_json() if self.commit else None,
            "cause": self.cause,
            "unknown": verdict.unknown,
        }


def statements(content: Content | LayerContent) -> list[Statement]:
    """Return everything that an overlay, or its layers, state."""
    return [*content.operations, *content.edits, *content.patches, *content.files]


def target(one: Statement) -> str:
    """Return the name of a statement for a `drop`: ``path:symbol``, the path of a file, or the name of a patch."""
    return f"{one.path}:{one.symbol}" if isinstance(one, Operation) else one.path


def undecided(one: Statement, verdict: Verdict) -> PortedPart:
    """Return a part that the new pin does not state, with the verdict on it."""
    if isinstance(one, OverlayFile):
        action, where = "patch" if one.path.endswith(".patch") else "file", one.file
    else:
        action, where = one.action if isinstance(one, Operation) else "edit", one.where
    return PortedPart(statement=one, action=action, name=target(one), where=where, verdict=verdict)


def parts(content: Content, classifier: Classifier, now: Snapshot, landed: LandedCommits) -> list[PortedPart]:
    """Return every part of an overlay with its verdict.

    Args:
        content: of the overlay, for the new version of upstream.
        classifier: of its operations, with upstream where they were locked.
        now: upstream at the new pin.
        landed: the commits between, if they are known.
    """
    found: list[PortedPart] = []
    for one in classifier.operations:
        verdict, name = classifier.verdict(one, now, landed), f"{one.path}:{one.symbol}"
        found.append(PortedPart(statement=one, action=one.action, name=name, where=one.where, verdict=verdict))
    for edit, verdict in SubstitutionVerdicts(classifier.base).verdicts(content.edits, now):
        found.append(PortedPart(statement=edit, action="edit", name=edit.path, where=edit.where, verdict=verdict))
    for file, verdict in patch_verdicts(content.patches, now):
        found.append(PortedPart(statement=file, action="patch", name=file.path, where=file.file, verdict=verdict))
    for file in content.files:
        verdict = file_verdict(file, now)
        found.append(PortedPart(statement=file, action="file", name=file.path, where=file.file, verdict=verdict))
    return found


def with_reads(
    found: Iterable[PortedPart], changed: Iterable[ChangedRead], rewritten: Collection[Statement]
) -> Iterator[PortedPart]:
    """Yield parts with the changed symbols that their code reads upstream.

    An operation that applies may do nothing or raise if a symbol that it reads changed, so the verdict names it; it is
    open if the symbol is gone or returns another number of values. A dropped part reads nothing any more.

    Args:
        found: the parts.
        changed: the symbols.
        rewritten: the statements that were written for upstream as it is now, which may read what they like.
    """
    by_reader: dict[str, list[tuple[ChangedRead, str]]] = {}
    broken: set[str] = set()
    for one in changed:
        for place in one.places:
            by_reader.setdefault(place.reader, []).append((one, place.where))
            if one.breaks and place.is_written:
                broken.add(place.reader)
    for part in found:
        verdict, reader = part.verdict, f"{part.action} {part.name}"
        reads = by_reader.get(reader, [])
        if reads and verdict.proposal != "drop":
            changes = dict.fromkeys(one for one, _ in reads)
            seen = [f"reads {one}, at {_places(where for other, where in reads if other == one)}" for one in changes]
            evidence = "; ".join(filter(None, [verdict.evidence, *seen]))
            verdict = replace(_reading(verdict, reads), evidence=evidence)
            if reader in broken and part.statement not in rewritten:
                verdict = replace(verdict, applies=False)
            yield replace(part, verdict=verdict)
        else:
            yield part


def _reading(verdict: Verdict, reads: Sequence[tuple[ChangedRead, str]]) -> Verdict:
    """Return the verdict on a part whose code reads what changed; the places in it are ours, and no part of a cause."""
    if verdict.kind in ("fits", "body changed"):
        changes = [verdict.evidence, *changed_names(dict.fromkeys(one for one, _ in reads))]
        places = _places(where for _, where in reads)
        unknown = f"whether our {places} {'are' if ' of ' in places else 'is'} still right"
        return replace(verdict, kind="reads changed", change=";\n".join(filter(None, changes)), unknown=unknown)
    if verdict.proposal in ("follow", "keep"):
        named = listing(dict.fromkeys(f"`{one.before.symbol}`" for one, _ in reads))
        return replace(verdict, proposal="", unknown=f"upstream changed what it reads, too: {named}")
    return verdict


def _places(wheres: Iterable[str]) -> str:
    """Return places of an overlay, ``file:line`` each, with several lines of a file as numbers and ranges."""
    lines: dict[str, list[int]] = {}
    for file, _, line in sorted({one.rpartition(":") for one in wheres}):
        lines.setdefault(file, []).append(int(line))
    shown: list[str] = []
    for file, numbers in lines.items():
        shown.append(f"{file}:{numbers[0]}" if len(numbers) == 1 else f"lines {_ranges(sorted(numbers))} of {file}")
    return listing(shown)


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers in order, consecutive ones as a range: ``21-23, 26``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def with_users(found: Iterable[PortedPart]) -> Iterator[PortedPart]:
    """Yield parts with additions marked whose users no longer fit.

    An added function fits wherever its name is free. But it was written for the operations that call it: if their
    targets changed upstream, it may have to change, too.
    """
    listed = list(found)
    changed: list[Operation] = []
    for part in listed:
        is_changed = part.verdict.kind != "fits" and part.verdict.proposal != "drop"
        if is_changed and isinstance(part.statement, Operation):
            changed.append(part.statement)
    for part in listed:
        added = part.statement
        if not isinstance(added, Operation) or added.action != "added" or part.verdict.kind != "fits":
            yield part
            continue
        users = [f"`{one.symbol}`" for one in changed if one.path == added.path and added.symbol in one.uses]
        verdict = part.verdict
        if users:
            verdict = replace(verdict, kind="user changed", evidence=f"{', '.join(users)} uses it")
        yield replace(part, verdict=verdict)


@dataclass(frozen=True, kw_only=True)
class CommitRange:
    """Upstream's commits from the old pin to the new one."""

    history: UpstreamHistory
    first: str
    last: str

    @cached_property
    def versions(self) -> dict[str, list[tuple[UpstreamCommit, str]]]:
        """By path the commits that changed it, oldest first, each with its blob; empty for none."""
        return self.history.versions(self.first, self.last)

    def moves(self, commit: UpstreamCommit, path: str) -> Iterator[str]:
        """Yield in words to which path a commit moved a file, and what later commits did with it there."""
        known = {path}
        while (there := self.history.moved(commit.id, path)) and there not in known:
            yield f"{commit.id[:9]} moved {path} to {there}"
            known.add(there)
            later = self.versions.get(there, [])[-1:]
            if not later or later[0][1]:
                return
            (commit, _), path = later[0], there
            if not self.history.moved(commit.id, path):
                yield f"{commit} deleted that"


def with_commits(
    found: Iterable[PortedPart], classifier: Classifier, commits: CommitRange, known: Iterable[PortedPart] = ()
) -> Iterator[PortedPart]:
    """Yield parts with the commits that caused their verdicts; those of ``known`` parts hold for equal verdicts."""
    earlier = {part.identity: part for part in known}
    blobs = BlobCache(commits.history.repository)
    for part in found:
        verdict, before = part.verdict, earlier.get(part.identity)
        if verdict.kind in ("fits", "reads changed", "user changed", "absent") or part.action in ("patch", "file"):
            yield part
        elif verdict.landed is not None:
            yield replace(part, commit=verdict.landed)
        elif before is not None and before.verdict == verdict:
            yield replace(part, commit=before.commit)
        else:
            versions = commits.versions.get(part.statement.path, [])
            blobs.keep(blob for _, blob in versions if blob)
            found_part = replace(part, commit=_cause(part, classifier, versions, blobs))
            yield _not_dropped_where_moved(found_part, commits)


def _not_dropped_where_moved(part: PortedPart, commits: CommitRange) -> PortedPart:
    """Return a part with the moves of its file, if a commit moved that away: it is not dropped then."""
    verdict = part.verdict
    if part.commit is None or verdict.proposal not in ("", "drop") or verdict.kind not in _GONE:
        return part
    steps = list(commits.moves(part.commit, part.statement.path))
    if not steps:
        return part
    evidence = f"{verdict.evidence}; {'; '.join(steps)}"
    unknown = "whether its successor needs the change, too" if verdict.proposal else verdict.unknown
    return replace(part, verdict=replace(verdict, proposal="", evidence=evidence, unknown=unknown))


def _cause(
    part: PortedPart,
    classifier: Classifier,
    versions: list[tuple[UpstreamCommit, str]],
    blobs: Mapping[str, bytes],
) -> UpstreamCommit | None:
    """Return a commit before which a part fits as it did and after which it does not, found by bisection.

    The state before the first commit counts as good, that after the last one as bad.
    """
    good, bad = -1, len(versions) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        if _is_as_it_was(part, classifier, versions[middle][1], blobs):
            good = middle
        else:
            bad = middle
    return versions[bad][0] if versions else None


def _is_as_it_was(part: PortedPart, classifier: Classifier, blob: str, blobs: Mapping[str, bytes]) -> bool:
    """Return whether a part fits one version of its file as it did on the old pin."""
    statement = part.statement
    now = Snapshot(entries={statement.path: blob} if blob else {}, contents=blobs, names=DefinedNames(()))
    if isinstance(statement, SourcedEdit):
        ((_, verdict),) = SubstitutionVerdicts(now).verdicts([statement], now)
        return verdict.applies
    if not isinstance(statement, Operation):
        return True
    if part.verdict.applies:
        return not classifier.fitter.has_changes(statement, now)
    return classifier.fitter.fit(statement, now).applies
