"""Grounds: what is said of several changes → what is said of the one that takes their place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from npu_overlays.overlay.acceptances import Acceptance
from npu_overlays.overlay.bounds import Bounds
from npu_overlays.overlay.operations import Grounds, Operation, Reason, joined_reasons


def joined(parts: Sequence[Grounds], bounds: Bounds, drop_when: str) -> Grounds:
    """Return what changes give for reasons and accept, each once.

    Args:
        parts: what is said of each.
        bounds: for which versions the one is that takes their place.
        drop_when: when it goes.
    """
    why = joined_reasons(one.reason.why for one in parts)
    forwarded = " ".join(dict.fromkeys(one.reason.forwarded for one in parts if one.reason.forwarded))
    accept = tuple(_accepted(one for part in parts for one in part.accept))
    return Grounds(reason=Reason(why=why, forwarded=forwarded, drop_when=drop_when), bounds=bounds, accept=accept)


def handed_on(new: Grounds, gone: Sequence[Operation]) -> Grounds:
    """Return what is said of something new in the place of operations: their reasons go on.

    Versions are not taken over: what operations of the pin are for, the pin is.
    """
    parts = [Grounds(reason=one.reason, bounds=one.bounds, accept=one.accept) for one in gone]
    # What a bound says beside itself is not a condition of its author's.
    conditions = {
        one.symbol: one.reason.drop_when for one in gone if one.reason.drop_when not in ("", one.bounds.drop_when)
    }
    return joined([new, *parts], new.bounds, _condition(conditions)) if gone else new


def _condition(conditions: dict[str, str]) -> str:
    """Return when something goes that has several parts: where they differ, for a person to read."""
    if len(set(conditions.values())) <= 1:
        return next(iter(conditions.values()), "")
    return "; ".join(f"{symbol}: {text}" for symbol, text in conditions.items())


def _accepted(every: Iterable[Acceptance]) -> Iterator[Acceptance]:
    """Yield what is accepted, each kind once with all its reasons."""
    reasons: dict[str, dict[str, None]] = {}
    for one in every:
        reasons.setdefault(one.kind, {}).update({one.reason: None} if one.reason else {})
    yield from (Acceptance(kind=kind, reason="; ".join(texts)) for kind, texts in reasons.items())
