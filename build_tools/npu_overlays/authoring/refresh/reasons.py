"""Reasons: the reasons of several changes → those of the one that takes their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.errors import listing
from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.operations import Grounds, Operation, Reason, joined_reasons


def joined(parts: Sequence[Grounds], bounds: Bounds, drop_when: str) -> Grounds:
    """Return the reasons and acceptances of several changes as those of one with these bounds, each text once."""
    why = joined_reasons(one.reason.why for one in parts)
    forwarded = " ".join(dict.fromkeys(one.reason.forwarded for one in parts if one.reason.forwarded))
    accepted: list[Acceptance] = []
    for part in parts:
        accepted += part.accept
    reason = Reason(why=why, forwarded=forwarded, drop_when=drop_when)
    return Grounds(reason=reason, bounds=bounds, accept=tuple(_by_kind(accepted)))


def listed_with_reasons(operations: Iterable[Operation]) -> str:
    """Return a list of operations for a message, each with its place and its reason."""
    return listing(f"`{one.symbol}` ({one.where}: {' '.join(one.reason.why.split())})" for one in operations)


def handed_on(new: Grounds, gone: Sequence[Operation]) -> Grounds:
    """Return the reasons of a new change together with those of the operations that it replaces.

    Versions are not taken over: the pin is of a version for which its operations are.
    """
    parts = [new]
    conditions: dict[str, str] = {}
    for one in gone:
        parts.append(Grounds(reason=one.reason, bounds=one.bounds, accept=one.accept))
        # A condition that follows from a bound is not one of the author's.
        if one.reason.drop_when not in ("", one.bounds.drop_when):
            conditions[one.symbol] = one.reason.drop_when
    return joined(parts, new.bounds, _condition(conditions)) if gone else new


def _condition(conditions: dict[str, str]) -> str:
    """Return when a change with several parts can go; if their conditions differ, as a text for people."""
    if len(set(conditions.values())) <= 1:
        return next(iter(conditions.values()), "")
    return "; ".join(f"{symbol}: {text}" for symbol, text in conditions.items())


def _by_kind(accepted: Iterable[Acceptance]) -> Iterator[Acceptance]:
    """Yield acceptances, each kind once with all its reasons."""
    reasons: dict[str, list[str]] = {}
    for one in accepted:
        known = reasons.setdefault(one.kind, [])
        if one.reason and one.reason not in known:
            known.append(one.reason)
    for kind, texts in reasons.items():
        yield Acceptance(kind=kind, reason="; ".join(texts))
