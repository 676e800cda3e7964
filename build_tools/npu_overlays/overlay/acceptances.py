"""Acceptances: texts of `accept` → the dangers that an author accepts, and why.

``"loss: averaged over the ranks, as upstream does on NPU"`` gives its reason; ``"loss"`` alone takes the reason of the
change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.errors import nearest, suggestion

# What a change can touch or bring in that fails nowhere when it is wrong.
KINDS = ("advantage", "checkpoint", "debugger", "exception", "loss", "print", "random", "reward", "seed")


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """One danger that is accepted."""

    kind: str  # one of `KINDS`
    reason: str = ""  # why it is right; empty where the change's own reason says so

    def __str__(self) -> str:
        return f"{self.kind}: {self.reason}" if self.reason else self.kind


def read_acceptances(texts: Iterable[str]) -> tuple[Acceptance, ...]:
    """Return the acceptances in texts; those in which `faults` finds a mistake are left out."""
    found: list[Acceptance] = []
    for text in texts:
        kind, _, reason = text.partition(":")
        if not _fault(text):
            found.append(Acceptance(kind=kind.strip(), reason=reason.strip()))
    return tuple(found)


def faults(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with the texts of an `accept`, and what to do."""
    seen: set[str] = set()
    for text in texts:
        kind = text.partition(":")[0].strip()
        if fault := _fault(text):
            yield fault
        elif kind in seen:
            yield f"`accept` names {kind} twice", "name it once, with all its reasons"
        seen.add(kind)


def _fault(text: str) -> tuple[str, str] | None:
    kind, colon, reason = text.partition(":")
    if not text.isprintable():
        return "`accept` holds characters that cannot be shown", "write one line of plain text"
    if kind.strip() not in KINDS:
        fix = suggestion(nearest(kind.strip(), KINDS), f"write one of {', '.join(KINDS)}")
        return f"`accept` names `{kind.strip()}`, which is no danger", fix
    if colon and not reason.strip():
        return f"`accept` gives no reason behind `{kind.strip()}:`", f'write "{kind.strip()}: why that is right"'
    return None
