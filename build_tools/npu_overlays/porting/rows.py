"""Rows: what an overlay says, and another state of its upstream → what became of each part, and which commit did it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from npu_overlays.contracts.changed_reads import ChangedRead
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.said import OverlayFile, SourcedEdit
from npu_overlays.porting.classify import Classifier
from npu_overlays.porting.history import Blobs, History
from npu_overlays.porting.landed import Commit, Landed
from npu_overlays.porting.revision import Names, Revision
from npu_overlays.porting.texts import Texts, file_verdict, patches
from npu_overlays.porting.verdict import Kind, Verdict

Said = Operation | SourcedEdit | OverlayFile


@dataclass(frozen=True, kw_only=True)
class Row:
    """One part of an overlay.

    Args:
        said: the operation, substitution, patch or added file.
        action: what it does: of an operation its action, else ``edit``, ``patch`` or ``file``.
        name: ``path:symbol``, or the path of a file, or the name of a patch: what a `drop` calls it.
        where: file and line in the overlay.
        verdict: what became of it.
        commit: which commit of upstream did that, where it is known.
    """

    said: Said
    action: str
    name: str
    where: str
    verdict: Verdict
    commit: Commit | None = None

    @property
    def layer(self) -> str:
        """The layer that says it."""
        return self.said.layer

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        verdict, commit = self.verdict, self.commit
        blame = (
            {"id": commit.id, "date": commit.date, "subject": commit.subject, "pull": commit.pull} if commit else None
        )
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
            "commit": blame,
        }


def rows(content: Content, classifier: Classifier, now: Revision, landed: Landed) -> list[Row]:
    """Return what became of every part of an overlay.

    Args:
        content: the overlay's, for the version of upstream it is ported to.
        classifier: knows its operations, and upstream where they were locked.
        now: upstream where it is ported to.
        landed: the commits between, where they are known.
    """
    texts = Texts(classifier.base)
    found = [_operation(one, classifier.verdict(one, now, landed)) for one in classifier.operations]
    for edit, verdict in texts.edits(content.edits, now):
        found.append(Row(said=edit, action="edit", name=edit.path, where=edit.where, verdict=verdict))
    for file, verdict in patches(content.patches, now):
        found.append(Row(said=file, action="patch", name=file.path, where=file.file, verdict=verdict))
    for file in content.files:
        verdict = file_verdict(file, now)
        found.append(Row(said=file, action="file", name=file.path, where=file.file, verdict=verdict))
    return found


def with_reads(found: Iterable[Row], changed: Iterable[ChangedRead]) -> Iterator[Row]:
    """Yield rows with what changed upstream of all that their code reads.

    What applies and reads something that is another now, may be inert or raise: that is what became of it then. What
    is to be dropped reads nothing any more.
    """
    by_reader: dict[str, list[str]] = {}
    for one in changed:
        for place in one.places:
            by_reader.setdefault(place.reader, []).append(f"reads {one}, at {place.where}")
    for row in found:
        said = by_reader.get(f"{row.action} {row.name}", []) if row.verdict.proposal != "drop" else []
        evidence = "; ".join(filter(None, [row.verdict.evidence, *dict.fromkeys(said)]))
        kind: Kind = "reads changed" if said and row.verdict.kind in ("fits", "body changed") else row.verdict.kind
        yield replace(row, verdict=replace(row.verdict, kind=kind, evidence=evidence))


def with_users(found: Iterable[Row]) -> Iterator[Row]:
    """Yield rows with what became of the operations that use what is added.

    An added function fits wherever its name is free. What it was written for is what those do that call it: where their
    definition upstream is another one, it may be the one to follow.
    """
    listed = list(found)
    users = [row for row in listed if row.verdict.kind != "fits" and row.verdict.proposal != "drop"]
    for row in listed:
        said = row.said
        if not isinstance(said, Operation) or said.action != "added" or row.verdict.kind != "fits":
            yield row
            continue
        by = [one.said for one in users if isinstance(one.said, Operation) and _uses(one.said, said)]
        evidence = ", ".join(f"`{one.symbol}`" for one in by)
        verdict = replace(row.verdict, kind="user changed", evidence=f"{evidence} uses it") if by else row.verdict
        yield replace(row, verdict=verdict)


def _uses(user: Operation, added: Operation) -> bool:
    return user.path == added.path and added.symbol in user.uses


def _operation(one: Operation, verdict: Verdict) -> Row:
    return Row(said=one, action=one.action, name=f"{one.path}:{one.symbol}", where=one.where, verdict=verdict)


@dataclass(frozen=True, kw_only=True)
class Blame:
    """Finds the commit that is responsible for what became of something.

    Args:
        history: of upstream.
        first: the commit it was locked at.
        last: the commit it is ported to.
    """

    history: History
    first: str
    last: str

    def responsible(self, found: Iterable[Row], classifier: Classifier, known: Iterable[Row] = ()) -> Iterator[Row]:
        """Yield each row with its commit, taken from the one that is known if it is the same; all that fits without."""
        told = {(one.action, one.name, one.where): one for one in known}
        states: dict[str, list[tuple[Commit, str]]] = {}
        blobs = Blobs(self.history.repository)
        for row in found:
            path = getattr(row.said, "path", "")
            if row.verdict.kind in ("fits", "reads changed", "user changed") or row.action in ("patch", "file"):
                yield row
                continue
            if row.verdict.landed is not None:
                yield replace(row, commit=row.verdict.landed)
                continue
            before = told.get((row.action, row.name, row.where))
            if before is not None and before.verdict == row.verdict:
                yield replace(row, commit=before.commit)
                continue
            if path not in states:
                states[path] = self.history.versions(self.first, self.last, path)
            yield replace(row, commit=_breaking(states[path], _question(row, classifier, blobs)))


def _question(row: Row, classifier: Classifier, blobs: Mapping[str, bytes]) -> Callable[[str], bool]:
    """Return what says whether something is as it was in one version of its file."""
    said = row.said

    def holds(blob: str) -> bool:
        now = Revision(entries={said.path: blob} if blob else {}, contents=blobs, names=Names(()))
        if isinstance(said, SourcedEdit):
            return blob != "" and next(iter(Texts(now).edits([said], now)))[1].applies
        if not isinstance(said, Operation):
            return True
        return not classifier.changed(said, now) if row.verdict.applies else classifier.fit(said, now).applies

    return holds


def _breaking(states: list[tuple[Commit, str]], holds: Callable[[str], bool]) -> Commit | None:
    """Return a commit before which something holds and after which it does not.

    The state before the first commit counts as holding, the last one as not.
    """
    below, above = -1, len(states) - 1
    while above - below > 1:
        middle = (below + above) // 2
        if holds(states[middle][1]):
            below = middle
        else:
            above = middle
    return states[above][0] if states else None
