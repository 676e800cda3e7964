"""Drift: an overlay and a range of upstream's commits → on how many of them each of its changes still applies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from npu_overlays.contracts.contracts import Contract
from npu_overlays.overlay.content import Content
from npu_overlays.porting.classify import Classifier, names_of
from npu_overlays.porting.history import History, revisions
from npu_overlays.porting.landed import Commit, Landed
from npu_overlays.porting.revision import Names, Revision
from npu_overlays.porting.texts import Texts
from npu_overlays.porting.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One change of an overlay: an operation on a symbol, or a substitution.

    Args:
        action: what is done; ``edit`` for a substitution in a file that is not Python.
        path: repository path.
        symbol: empty for a substitution.
        where: file and line in the overlay.
    """

    action: str
    path: str
    symbol: str
    where: str

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return f"{self.path}:{self.symbol}" if self.symbol else self.path


@dataclass(frozen=True, kw_only=True)
class Survival:
    """What became of one change, commit by commit."""

    subject: Subject
    verdicts: tuple[Verdict, ...]

    @property
    def applies(self) -> float:
        """The share of commits on which it applies as it stands."""
        return share(one.applies for one in self.verdicts)

    @property
    def resolved(self) -> float:
        """The share of commits on which it applies, or a rule says what to do."""
        return share(one.resolved for one in self.verdicts)

    @property
    def absorbed(self) -> float:
        """The share of commits on which upstream seems to do it itself."""
        return share(one.kind == "absorbed" for one in self.verdicts)

    @property
    def first_break(self) -> int | None:
        """The number of the first commit on which it does not apply, or None."""
        return next((number for number, one in enumerate(self.verdicts) if not one.applies), None)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """What became of an overlay over a range of commits.

    Args:
        commits: oldest first.
        operations: on symbols.
        edits: in files that are not Python.
        states: the blob of each changed file, commit by commit, for comparing with patches; empty where it is gone.
    """

    commits: tuple[Commit, ...]
    operations: tuple[Survival, ...]
    edits: tuple[Survival, ...]
    states: tuple[dict[str, str], ...]

    def shares(self, holds: Callable[[Verdict], bool]) -> list[float]:
        """Return, commit by commit, the share of operations of which something holds."""
        return [share(holds(one.verdicts[number]) for one in self.operations) for number in range(len(self.commits))]


def share(values: Iterator[bool]) -> float:
    """Return which share of some answers is yes; 1 where there is none."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 1.0


@dataclass(frozen=True, kw_only=True)
class Walk:
    """Which commits are looked at.

    Args:
        history: of upstream.
        base: the pinned commit.
        commits: those to look at, oldest first.
        files: further files whose versions are wanted.
    """

    history: History
    base: str
    commits: Sequence[Commit]
    files: Sequence[str] = ()


def drift(content: Content, locked: Sequence[Contract], walk: Walk) -> Drift:
    """Return what became of an overlay on each commit of a walk.

    Args:
        content: the overlay's, as it is on its pin.
        locked: what its operations depend on there.
        walk: which commits.
    """
    commits = walk.commits
    names = Names(names_of(content.operations))
    paths = {*(one.path for one in content.operations), *(one.path for one in content.edits), *walk.files}
    start = Commit(id=walk.base, date="", subject="")
    pin = content.overlay.pin
    walked = revisions(walk.history, [start, *commits], names=names, paths=paths, shipped=pin.place)
    _, first = next(walked)
    classifier, texts, landed = Classifier(content, locked, first), Texts(first), Landed()
    told = _Told(walk)
    found: list[list[Verdict]] = []
    edited: list[list[Verdict]] = []
    states: list[dict[str, str]] = []
    for commit, now in walked:
        landed.note(told.until(commit))
        found.append([classifier.verdict(one, now, landed) for one in classifier.operations])
        edited.append([verdict for _, verdict in texts.edits(content.edits, now)])
        states.append(_state(now, paths))
    operations = [
        Subject(action=one.action, path=one.path, symbol=one.symbol, where=one.where) for one in classifier.operations
    ]
    # In the order in which `Texts` gives them: by file.
    order = sorted(content.edits, key=lambda edit: [one.path for one in content.edits].index(edit.path))
    edits = [Subject(action="edit", path=one.path, symbol="", where=one.where) for one in order]
    return Drift(
        commits=tuple(commits),
        operations=_survivals(operations, found),
        edits=_survivals(edits, edited),
        states=tuple(states),
    )


def _survivals(subjects: list[Subject], verdicts: list[list[Verdict]]) -> tuple[Survival, ...]:
    columns = zip(*verdicts, strict=True) if verdicts else iter(())
    return tuple(Survival(subject=subject, verdicts=column) for subject, column in zip(subjects, columns, strict=False))


def _state(now: Revision, paths: set[str]) -> dict[str, str]:
    return {path: now.blob(path) for path in paths}


class _Told:
    """The commits that came since the pin, told once each; what came by merges too."""

    def __init__(self, walk: Walk) -> None:
        self._left = walk.history.graph(walk.base, walk.commits[-1].id)
        self._order = {id_: number for number, id_ in enumerate(self._left)}

    def until(self, commit: Commit) -> list[Commit]:
        """Return the commits that lead to one and were not told yet, each behind its parents."""
        found: list[Commit] = []
        pending = [commit.id]
        while pending:
            known = self._left.pop(pending.pop(), None)
            if known is not None:
                found.append(known[0])
                pending += known[1]
        return sorted(found, key=lambda one: self._order[one.id], reverse=True)
