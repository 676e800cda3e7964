"""Verdicts: the result for a part of an overlay on another state of upstream, with evidence and proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.errors import listing
from npu_overlays.overlay.operations import Operation

Kind = Literal[
    "fits",
    "body changed",
    "reads changed",
    "user changed",
    "signature changed",
    "renamed",
    "moved",
    "already gone",
    "other value",
    "absorbed",
    "left",
    "retired",
    "absent",
    "taken",
    "ambiguous",
    "find gone",
    "does not fit",
    "ended",
    "left out",
]
# The most names in a sentence.
_SHOWN = 3
KINDS: tuple[Kind, ...] = get_args(Kind)
Proposal = Literal["", "drop", "retarget", "follow", "keep", "relock"]

MEANINGS: dict[Kind, str] = {
    "fits": "nothing that it depends on changed",
    "body changed": "upstream changed the definition",
    "reads changed": "upstream changed something that its code reads",
    "user changed": "an operation that uses it does not fit as it stands",
    "signature changed": "upstream changed the parameters, decorators or kind",
    "renamed": "the same definition stands in the same file under another name",
    "moved": "the same definition stands in another file, class or function",
    "already gone": "it deletes or changes something that upstream has deleted",
    "other value": "it deletes an assignment whose value changed",
    "absorbed": "upstream seems to have made the change itself",
    "left": "its package left the repository",
    "retired": "its file, class or function is gone, and nothing like it was found",
    "absent": "neither version of upstream has its file, class or symbol",
    "taken": "upstream has another definition, file or key under the name it adds",
    "ambiguous": "its target is there more than once, or under a condition",
    "find gone": "a find does not occur as often as it says",
    "does not fit": "it cannot be applied, for the reason given",
    "ended": "`until` ends it before the new version, and nothing replaces it at its target",
    "left out": "the old pin drops it, it fits the new version, and the reason may not hold",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The result for one operation, substitution, patch or added file.

    Args:
        kind: in a word or two; `MEANINGS` has a sentence for each.
        applies: whether it can be applied unchanged, and no change breaks it.
        proposal: the step that the evidence proves; empty if a person has to decide.
        wanted: for ``retarget`` and ``follow``, the operation to state instead; without a proposal it is not proven.
        lead: for an ambiguous substitution, the lines above its find that make it unique.
        likeness: of the new target to the old one, from 0 to 1; None if nothing was compared.
        evidence: in a sentence.
        change: upstream's change, in the same words for every part that it concerns; may be empty.
        unknown: the question that the proposal leaves open.
        landed: the commit with which the forwarded change landed.
    """

    kind: Kind
    applies: bool = False
    proposal: Proposal = ""
    wanted: Operation | None = None
    lead: str = ""
    likeness: float | None = None
    evidence: str = ""
    change: str = ""
    unknown: str = ""
    landed: UpstreamCommit | None = None

    @property
    def to(self) -> str:
        """The new target, ``path:symbol``; empty if it has none."""
        return f"{self.wanted.path}:{self.wanted.symbol}" if self.wanted else ""

    @property
    def resolved(self) -> bool:
        """Whether it applies, or there is a proposal."""
        return self.applies or bool(self.proposal)


def left(evidence: str, there: str) -> Verdict:
    """Return the verdict on a part that left with its package, and may be in a new file."""
    evidence += f", but {there}, which is new, may be where its file went"
    return Verdict(kind="left", evidence=evidence, change=evidence, unknown=f"whether `{there}` needs the change")


def retired(evidence: str, successors: Sequence[str], *, is_likely: bool) -> Verdict:
    """Return the verdict on a part without a target: it is dropped, unless a new definition is a likely target.

    Args:
        evidence: the sentence that it is gone.
        successors: the new definitions that may replace the target.
        is_likely: whether one of these is so likely that a person has to look.
    """
    named = listing((f"`{one}`" for one in successors), _SHOWN) or "its successor, if it has one,"
    unknown = f"whether {named} needs the change, too"
    proposal: Proposal = "" if is_likely else "drop"
    return Verdict(kind="retired", proposal=proposal, evidence=evidence, change=evidence, unknown=unknown)


def absent(
    target: str, before: Snapshot, now: Snapshot, elsewhere: Sequence[str] = (), *, is_sure: bool = True
) -> Verdict:
    """Return the verdict on a part that is written for something which neither version of upstream has.

    Args:
        target: what they lack.
        before: the old version.
        now: the new one.
        elsewhere: new definitions that may be meant.
        is_sure: whether nothing can be meant.
    """
    evidence = f"neither {before.pin or 'the old pin'} nor {now.pin or 'the new one'} has {target}"
    unknown = "whether the change is needed in another place there"
    if elsewhere:
        unknown = f"whether the change is needed at {listing((f'`{one}`' for one in elsewhere), _SHOWN)}"
    return Verdict(
        kind="absent", proposal="drop" if is_sure else "", evidence=evidence, change=evidence, unknown=unknown
    )
