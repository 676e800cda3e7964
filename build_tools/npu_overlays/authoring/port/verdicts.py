"""Verdicts: what happened to a part of an overlay on another state of upstream, with evidence and proposal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
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
    "taken",
    "ambiguous",
    "find gone",
    "does not fit",
]
# Names that a sentence has.
_SHOWN = 3
KINDS: tuple[Kind, ...] = get_args(Kind)
Proposal = Literal["", "drop", "retarget", "follow", "keep", "relock"]

MEANINGS: dict[Kind, str] = {
    "fits": "nothing it depends on changed",
    "body changed": "upstream's definition is another one now",
    "reads changed": "what its code reads upstream is another now",
    "user changed": "it is added for an operation that has another line of this table",
    "signature changed": "upstream's parameters, decorators or kind are others now",
    "renamed": "the same definition stands in the same file under another name",
    "moved": "the same definition stands in another file, class or function",
    "already gone": "it deletes what is gone, or changes an import or a statement that is gone",
    "other value": "it deletes an assignment whose value changed",
    "absorbed": "upstream seems to do it itself now",
    "left": "the package it is in left the repository",
    "retired": "its file, class or function is gone, and nothing like it was found",
    "taken": "upstream has another definition, file or key under the name it adds",
    "ambiguous": "its target is there more than once, or under a condition",
    "find gone": "a text it looks for does not occur as often as it says",
    "does not fit": "it cannot be applied, for the reason given",
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What happened to one operation, substitution, patch or added file.

    Args:
        kind: in a word or two; `MEANINGS` has a sentence for each.
        applies: whether it can be applied as it is, and nothing that it needs changed.
        proposal: what to do, if the evidence alone decides it; empty if a person has to.
        wanted: for ``retarget`` and ``follow``, the operation to state instead; without a proposal it does not fit.
        lead: for an ambiguous substitution, the text above the one that is meant, with which it occurs once.
        likeness: of the new target to the old one, from 0 to 1; None if nothing was compared.
        evidence: in a sentence.
        change: what upstream did, in words that are the same for every part that it concerns, or empty.
        unknown: what the proposal leaves open.
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
        """Whether nobody has to write anything: it applies, or there is a proposal."""
        return self.applies or bool(self.proposal)


def left(evidence: str, there: str) -> Verdict:
    """Return the verdict on what left with its package, and may be in a new file."""
    evidence += f", but {there}, which is new, may be where its file went"
    return Verdict(kind="left", evidence=evidence, change=evidence, unknown=f"whether `{there}` needs the change")


def retired(evidence: str, successors: Sequence[str], *, is_likely: bool) -> Verdict:
    """Return the verdict on what has no place upstream any more: it goes, unless something is likely to be that place.

    Args:
        evidence: that it is gone.
        successors: what may do its work now.
        is_likely: whether one of these is so like it that a person has to look.
    """
    named = listing((f"`{one}`" for one in successors), _SHOWN) or "what does its work now, if anything,"
    unknown = f"whether {named} needs the change, too"
    proposal: Proposal = "" if is_likely else "drop"
    return Verdict(kind="retired", proposal=proposal, evidence=evidence, change=evidence, unknown=unknown)
