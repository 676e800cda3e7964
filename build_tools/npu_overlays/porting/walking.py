"""Walking: a long walk over upstream's commits → what `drift` says of it, its parts walked by several processes.

What became of a change on one commit does not depend on what became of it on others, and a file has few versions: each
process reads those of its own commits.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from npu_overlays.contracts.contracts import Contract
from npu_overlays.crew.cores import cores
from npu_overlays.crew.together import Died, Work, together
from npu_overlays.errors import OverlayError, Problem
from npu_overlays.overlay.content import Content
from npu_overlays.porting.drift import Drift, Survival, Walk, drift

# A process takes a third of a second to begin, and reads the pinned commit like all others.
_FEWEST = 40


@dataclass(frozen=True, kw_only=True)
class Leg:
    """A part of a walk, with what is carried along.

    Args:
        content: the overlay's, as it is on its pin.
        locked: what its operations depend on there.
        walk: which commits.
    """

    content: Content
    locked: Sequence[Contract]
    walk: Walk


def walked(content: Content, locked: Sequence[Contract], walk: Walk) -> Drift:
    """Return what became of an overlay on each commit of a walk.

    Args:
        content: the overlay's, as it is on its pin.
        locked: what its operations depend on there.
        walk: which commits.

    Raises:
        OverlayError: a process was ended from outside.
    """
    legs = [Leg(content=content, locked=locked, walk=one) for one in parts(walk, cores())]
    if len(legs) == 1:
        return _walked(legs[0])
    found: dict[str, Drift] = {}

    def take(leg: Leg, result: Drift | Died) -> None:
        if isinstance(result, Died):
            what, fix = f"a process that walked commits ended: {result.how}", "try again, perhaps with --step 10"
            raise OverlayError(Problem(where=content.overlay.name, what=what, fix=fix))
        found[leg.walk.commits[0].id] = result

    together(Work(do=_walked, tasks=iter(legs), number=len(legs), jobs=len(legs)), take)
    return joined([found[leg.walk.commits[0].id] for leg in legs])


def parts(walk: Walk, most: int) -> list[Walk]:
    """Return a walk in parts of about the same length, none of which is too short to be worth it."""
    commits = walk.commits
    number = max(1, min(most, len(commits) // _FEWEST))
    ends = [len(commits) * part // number for part in range(number + 1)]
    return [replace(walk, commits=commits[first:last]) for first, last in itertools.pairwise(ends)]


def joined(found: Sequence[Drift]) -> Drift:
    """Return what became of an overlay on a walk, given that on each part of it."""
    return Drift(
        commits=tuple(commit for one in found for commit in one.commits),
        operations=_one_after_the_other([one.operations for one in found]),
        edits=_one_after_the_other([one.edits for one in found]),
        states=tuple(state for one in found for state in one.states),
    )


def _one_after_the_other(found: Sequence[tuple[Survival, ...]]) -> tuple[Survival, ...]:
    return tuple(
        replace(those[0], verdicts=tuple(verdict for one in those for verdict in one.verdicts))
        for those in zip(*found, strict=True)
    )


def _walked(leg: Leg) -> Drift:
    return drift(leg.content, leg.locked, leg.walk)
