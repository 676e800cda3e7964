"""Samples: ranges of upstream's commits → commits out of them, each with the overlay that is ported there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from npu_overlays.authoring.port.history import UpstreamHistory
from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
from npu_overlays.errors import Problem, UsageError
from npu_overlays.overlay.overlay_folders import find_overlay
from npu_overlays.overlay.source_choice import Choice
from npu_overlays.progress import step
from npu_overlays.sources.cache import cache_root
from npu_overlays.sources.histories import history
from npu_overlays.sources.pin import Pin, clone_variable


@dataclass(frozen=True, kw_only=True)
class Range:
    """Commits of upstream, by their first parents, and what is ported to them.

    Args:
        name: what it is called in the table.
        overlay: the nearest overlay that is older.
        first: the commit after which it begins.
        last: its last commit.
        stack: the verl of the stack whose environment holds what upstream's tests need there: of the nearest one at
            which most of them pass.
        samples: how many commits are taken out of it, evenly spaced; the last one is among them.
    """

    name: str
    overlay: str
    first: str
    last: str
    stack: str = ""
    samples: int = 7


# The commit in the middle of the last two is the one that release 0.7.1 was branched from.
RANGES = (
    Range(name="A", overlay="verl@796871d", first="796871d7d092", last="v0.6.0", stack="verl@796871d"),
    Range(name="B", overlay="verl@d62da49", first="v0.6.1", last="v0.7.0", stack="verl@bec9ef7"),
    Range(name="C", overlay="verl@d62da49", first="v0.7.0", last="efc48d5369d2", stack="verl@bec9ef7", samples=3),
    Range(name="D", overlay="verl@bec9ef7", first="efc48d5369d2", last="v0.9.0", stack="verl@0.9.1", samples=4),
)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One commit of a range."""

    range: Range
    commit: UpstreamCommit


def samples(
    root: Path, ranges: Iterable[Range], choice: Choice, *, every: int, named: Sequence[str]
) -> tuple[list[Sample], Choice]:
    """Return the commits to look at, range by range, oldest first, and a choice that takes them from one history.

    Args:
        root: the folder of overlays.
        ranges: where to look for commits.
        choice: where upstream is to come from.
        every: take every so many commits of a range, instead of as many as it says; 0 for those.
        named: the only commits to take, by the beginnings of their ids.

    Raises:
        OverlayError: upstream's history cannot be had, or a name is of no commit of any range.
    """
    clones = dict(choice.clones)
    listed = []
    for one in ranges:
        pin = find_overlay(root, one.overlay).pin
        past, ids = _past(pin, one, choice)
        clones[clone_variable(pin.project)] = past.repository
        listed.append((one, past.commits(ids[one.first], ids[one.last])))
    found = [Sample(range=one, commit=commit) for one, commits in listed for commit in _chosen(commits, one, every)]
    return _named(listed, named) if named else found, replace(choice, mode=None, clones=clones)


def _past(pin: Pin, wanted: Range, choice: Choice) -> tuple[UpstreamHistory, dict[str, str]]:
    revisions = [pin.commit, wanted.first, wanted.last]
    folder, ids = history(pin, revisions, clone=choice.clone(pin.project), cache=cache_root(), progress=step)
    return UpstreamHistory(repository=folder), ids


def _chosen(commits: Sequence[UpstreamCommit], wanted: Range, every: int) -> Iterator[UpstreamCommit]:
    last = len(commits) - 1
    count = last // every if every else min(last, wanted.samples)
    yield from (commits[number * every if every else last * number // count] for number in range(1, count + 1))


def _named(listed: Iterable[tuple[Range, Sequence[UpstreamCommit]]], named: Sequence[str]) -> list[Sample]:
    every = [Sample(range=one, commit=commit) for one, commits in listed for commit in commits[1:]]
    found = {name: [one for one in every if one.commit.id.startswith(name)] for name in named}
    if wrong := [name for name, some in found.items() if not some]:
        fix = "name commits that lead from the first to the last one of a range by first parents"
        raise UsageError(Problem(where=f"--commits {name}", what="is in no range", fix=fix) for name in wrong)
    return [some[0] for some in found.values()]
