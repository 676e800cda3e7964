"""Drift: an overlay and a range of upstream's commits → the commits on which each of its changes still applies.

Processes share a long walk: the verdicts on one commit do not depend on those on others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt

from npu_overlays.authoring.port.classifier import Classifier, names_of
from npu_overlays.authoring.port.history import UpstreamHistory, snapshots
from npu_overlays.authoring.port.text_verdicts import SubstitutionVerdicts
from npu_overlays.authoring.port.upstream_commits import LandedCommits, UpstreamCommit
from npu_overlays.authoring.port.verdicts import Verdict
from npu_overlays.authoring.snapshots import DefinedNames
from npu_overlays.contracts.contracts import Contract
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.layer_content import SourcedEdit
from npu_overlays.overlay.operations import Operation
from npu_overlays.worker_pool import TaskBatch, WorkerDied, cores, run_tasks

# A process takes a third of a second to start, and each one reads the pinned commit.
_FEWEST_COMMITS = 40


@dataclass(frozen=True, kw_only=True)
class Survival:
    """The verdicts on one change of an overlay, commit by commit.

    Args:
        action: of the operation; ``edit`` for a substitution in a file that is not Python.
        name: ``path:symbol``, or the path of a substitution's file.
        where: file and line in the overlay.
        verdicts: one for each commit.
    """

    action: str
    name: str
    where: str
    verdicts: tuple[Verdict, ...]

    @property
    def path(self) -> str:
        """The file it changes."""
        return self.name.partition(":")[0]

    @property
    def symbol(self) -> str:
        """The symbol it changes; empty for a substitution."""
        return self.name.partition(":")[2]

    @property
    def applies(self) -> float:
        """The share of commits on which it applies as it is."""
        return share(one.applies for one in self.verdicts)

    @property
    def resolved(self) -> float:
        """The share of commits on which it applies, or there is a proposal."""
        return share(one.resolved for one in self.verdicts)

    @property
    def absorbed(self) -> float:
        """The share of commits on which upstream seems to have made the change itself."""
        return share(one.kind == "absorbed" for one in self.verdicts)

    @property
    def first_break(self) -> int | None:
        """The number of the first commit on which it does not apply; None if it applies to all."""
        return next((number for number, one in enumerate(self.verdicts) if not one.applies), None)


@dataclass(frozen=True, kw_only=True)
class Drift:
    """The verdicts on the changes of an overlay over a range of commits.

    Args:
        commits: oldest first.
        operations: on symbols.
        edits: in files that are not Python.
        states: for each commit the blobs of the changed files, by path, empty for a file that does not exist.
    """

    commits: tuple[UpstreamCommit, ...]
    operations: tuple[Survival, ...]
    edits: tuple[Survival, ...]
    states: tuple[Mapping[str, str], ...]


def share(values: Iterable[bool]) -> float:
    """Return the share of values that are true; 1 if there are none."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 1.0


@dataclass(frozen=True, kw_only=True)
class WalkSegment:
    """Consecutive commits, and the overlay that is tried on them.

    Args:
        content: of the overlay on its pin.
        locked: the contracts its operations were locked with there.
        history: of upstream.
        base: the pinned commit.
        commits: oldest first.
        files: further files whose versions the result has.
    """

    content: Content
    locked: Sequence[Contract]
    history: UpstreamHistory
    base: str
    commits: Sequence[UpstreamCommit]
    files: Sequence[str] = ()

    def split(self, most: int) -> list[WalkSegment]:
        """Return segments of about the same cost, each worth a process of its own."""
        commits = self.commits
        number = max(1, min(most, len(commits) // _FEWEST_COMMITS))
        # The more commits lie between, the more changed: a commit costs as much as its distance from the pin.
        ends = [round(len(commits) * sqrt(part / number)) for part in range(number + 1)]
        return [replace(self, commits=commits[first:behind]) for first, behind in pairwise(ends)]


def drift(walk: WalkSegment) -> Drift:
    """Return the drift over a walk, which several processes share.

    Raises:
        OverlayError: a process was ended from outside.
    """
    segments = walk.split(cores())
    if len(segments) == 1:
        return drift_of_segment(walk)
    found: dict[str, Drift] = {}

    def take(segment: WalkSegment, result: Drift | WorkerDied) -> None:
        if isinstance(result, WorkerDied):
            what, fix = f"a process that walked commits ended: {result.how}", "try again, perhaps with --step 10"
            raise OverlayError(Problem(where=walk.content.overlay.name, what=what, fix=fix))
        found[segment.commits[0].id] = result

    run_tasks(TaskBatch(do=drift_of_segment, tasks=iter(segments), number=len(segments), jobs=len(segments)), take)
    first, *others = (found[segment.commits[0].id] for segment in segments)
    for other in others:
        first = Drift(
            commits=first.commits + other.commits,
            operations=_joined(first.operations, other.operations),
            edits=_joined(first.edits, other.edits),
            states=first.states + other.states,
        )
    return first


def _joined(earlier: Iterable[Survival], later: Iterable[Survival]) -> tuple[Survival, ...]:
    pairs = zip(earlier, later, strict=True)
    return tuple(replace(one, verdicts=one.verdicts + other.verdicts) for one, other in pairs)


def drift_of_segment(walk: WalkSegment) -> Drift:
    """Return the drift over a walk, found by this process."""
    content, commits = walk.content, walk.commits
    paths = {*(one.path for one in content.operations), *(one.path for one in content.edits), *walk.files}
    start = UpstreamCommit(id=walk.base, date="", subject="")
    names, shipped = DefinedNames(names_of(content.operations)), content.overlay.pin.place
    states = snapshots(walk.history, [start, *commits], names=names, paths=paths, shipped=shipped)
    _, base = next(states)
    classifier, substitutions = Classifier(content, walk.locked, base), SubstitutionVerdicts(base)
    commits_since, landed = _CommitsSince(walk), LandedCommits()
    operations: dict[Operation, list[Verdict]] = {one: [] for one in classifier.operations}
    edits: dict[int, tuple[SourcedEdit, list[Verdict]]] = {}
    blobs: list[Mapping[str, str]] = []
    modules = base
    for commit, now in states:
        landed.note(commits_since.until(commit))
        # The classifier knows its answers for the last snapshot, by identity.
        modules = modules if now.has_modules_of(modules) else now
        for one, verdicts in operations.items():
            verdicts.append(classifier.verdict(one, modules, landed))
        for edit, verdict in substitutions.verdicts(content.edits, now):
            edits.setdefault(id(edit), (edit, []))[1].append(verdict)
        blobs.append({path: now.blob(path) for path in paths})
    return Drift(
        commits=tuple(commits),
        operations=tuple(
            _survival(one.action, f"{one.path}:{one.symbol}", one, found) for one, found in operations.items()
        ),
        edits=tuple(_survival("edit", edit.path, edit, found) for edit, found in edits.values()),
        states=tuple(blobs),
    )


def _survival(action: str, name: str, one: Operation | SourcedEdit, verdicts: Iterable[Verdict]) -> Survival:
    return Survival(action=action, name=name, where=one.where, verdicts=tuple(verdicts))


class _CommitsSince:
    """The commits since the pin, also those of merged branches; each is returned once."""

    def __init__(self, walk: WalkSegment) -> None:
        self._left = walk.history.graph(walk.base, walk.commits[-1].id)
        self._order = {id_: number for number, id_ in enumerate(self._left)}

    def until(self, commit: UpstreamCommit) -> list[UpstreamCommit]:
        """Return the commits that lead to one and were not returned before, each after its parents."""
        found: list[UpstreamCommit] = []
        pending = [commit.id]
        while pending:
            known = self._left.pop(pending.pop(), None)
            if known is not None:
                found.append(known[0])
                pending += known[1]
        return sorted(found, key=lambda one: self._order[one.id], reverse=True)
