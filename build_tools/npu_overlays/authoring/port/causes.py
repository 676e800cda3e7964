"""Causes: the parts of a port → each change of upstream's once, with the parts that it concerns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from npu_overlays.authoring.port.parts import PortedPart
from npu_overlays.authoring.port.upstream_commits import UpstreamCommit
from npu_overlays.authoring.port.verdicts import KINDS
from npu_overlays.authoring.writer.statements import statement
from npu_overlays.errors import listing

_DECISIONS = {
    "": "for you to decide",
    "drop": "proposed: drop it, for that reason",
    "retarget": "proposed: the same where upstream has it now",
    "follow": "proposed: use the name that upstream has now",
    "keep": "proposed: keep the operation as it is",
}
# Removed things that a cause names.
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Cause:
    """One change of upstream's.

    Args:
        name: the name by which a person decides about all of its parts.
        said: its description.
        parts: that it concerns.
    """

    name: str
    said: str
    parts: tuple[PortedPart, ...]

    @property
    def commits(self) -> list[UpstreamCommit]:
        """The commits that did it, as far as they are known."""
        return list(dict.fromkeys(part.commit for part in self.parts if part.commit))

    @property
    def proposal(self) -> str:
        """The proposal for its parts; empty if some of them have none."""
        found = dict.fromkeys(part.verdict.proposal for part in self.parts)
        return "" if "" in found else ", ".join(found)

    @property
    def decision(self) -> str:
        """What there is to decide, in words."""
        decision = _DECISIONS.get(self.proposal, self.proposal)
        is_absorbed = all(part.verdict.kind == "absorbed" for part in self.parts)
        return f"{decision}; `--accept all` leaves that to you" if is_absorbed and self.proposal else decision

    @property
    def option(self) -> str:
        """The option of `port` that decides it."""
        return f"--accept {self.name}" if self.proposal else f"--drop '{self.name}=WHY'"

    @property
    def unknown(self) -> list[str]:
        """The questions that the proposals leave open, or the reasons why there is none."""
        return list(dict.fromkeys(part.verdict.unknown for part in self.parts if part.verdict.unknown))

    @property
    def operations(self) -> list[str]:
        """The proposed operations in full, each once."""
        wanted = [part.verdict.wanted for part in self.parts if part.verdict.proposal]
        return list(dict.fromkeys(statement(one) for one in wanted if one))

    @property
    def is_open(self) -> bool:
        """Whether somebody has to decide."""
        return any(part.is_open for part in self.parts)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "name": self.name,
            "said": self.said,
            "open": self.is_open,
            "proposal": self.proposal,
            "unknown": self.unknown,
            "commits": [one.as_json() for one in self.commits],
            "parts": [part.name for part in self.parts],
            "operations": self.operations,
        }


def causes(found: Iterable[PortedPart]) -> list[Cause]:
    """Return the causes of the parts that do not fit as they stand, those that a person has to decide first."""
    together: dict[str, list[PortedPart]] = {}
    for part in found:
        if part.verdict.kind != "fits":
            together.setdefault(part.cause, []).append(part)
    listed: list[Cause] = []
    for name, parts in together.items():
        said = listing(dict.fromkeys(part.said for part in parts), _SHOWN)
        listed.append(Cause(name=name, said=said, parts=tuple(parts)))
    return sorted(listed, key=_order)


def _order(cause: Cause) -> tuple[bool, bool, int, str]:
    first = min(KINDS.index(part.verdict.kind) for part in cause.parts)
    return not cause.is_open, bool(cause.proposal), first, cause.name
