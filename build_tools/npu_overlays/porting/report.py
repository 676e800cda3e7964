"""Report: a drift → its shares as data, and as lines of text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from npu_overlays.porting.drift import Drift, Survival, share
from npu_overlays.porting.linepatches import LinePatches, Version
from npu_overlays.porting.verdict import Verdict


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A share on every commit: 1 where all of something applies.

    Args:
        name: what it is the share of.
        shares: commit by commit.
    """

    name: str
    shares: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean share."""
        return sum(self.shares) / len(self.shares)

    @property
    def whole(self) -> int:
        """On how many commits all of it applies."""
        return sum(one == 1 for one in self.shares)


def curves(drift: Drift, patches: LinePatches | None, files: Sequence[str]) -> list[Curve]:
    """Return the curves of a drift: of operations, of substitutions, and of files beside those of line patches.

    Args:
        drift: what became of an overlay.
        patches: what became of the same as line patches, or None where that was not asked.
        files: the files that exist upstream and are changed.
    """
    found = [
        Curve(name="operations", shares=tuple(drift.shares(lambda one: one.applies))),
        Curve(name="operations, with port's rules", shares=tuple(drift.shares(lambda one: one.resolved))),
        Curve(name="operations absorbed upstream", shares=tuple(drift.shares(lambda one: one.kind == "absorbed"))),
    ]
    if drift.edits:
        found.append(Curve(name="text substitutions", shares=_of(drift.edits, lambda one: one.applies)))
        found.append(
            Curve(name="text substitutions, with port's rules", shares=_of(drift.edits, lambda one: one.resolved))
        )
    if patches is not None and files:
        found.append(Curve(name="files, by operations", shares=tuple(_whole_files(drift, files))))
        found.append(Curve(name="files, by git apply", shares=tuple(_patched_files(drift, files, patches.git))))
        if patches.fuzzy is not None:
            shares = tuple(_patched_files(drift, files, patches.fuzzy))
            found.append(Curve(name="files, by GNU patch with fuzz 2", shares=shares))
    return found


def _of(survivals: tuple[Survival, ...], holds: Callable[[Verdict], bool]) -> tuple[float, ...]:
    columns = zip(*(one.verdicts for one in survivals), strict=True)
    return tuple(share(holds(verdict) for verdict in column) for column in columns)


def _whole_files(drift: Drift, files: Sequence[str]) -> Iterator[float]:
    changes = [*drift.operations, *drift.edits]
    for number, _ in enumerate(drift.commits):
        broken = {one.subject.path for one in changes if not one.verdicts[number].applies}
        yield share(path not in broken for path in files)


def _patched_files(drift: Drift, files: Sequence[str], taken: frozenset[Version]) -> Iterator[float]:
    for state in drift.states:
        yield share((path, state.get(path, "")) in taken for path in files)


def as_json(overlay: str, drift: Drift, listed: list[Curve]) -> dict[str, Any]:
    """Return a drift as JSON."""
    return {
        "overlay": overlay,
        "commits": [{"id": one.id, "date": one.date, "subject": one.subject} for one in drift.commits],
        "curves": [
            {"name": one.name, "mean": one.mean, "whole": one.whole, "shares": list(one.shares)} for one in listed
        ],
        "changes": [_change(drift, one) for one in (*drift.operations, *drift.edits)],
    }


def _change(drift: Drift, one: Survival) -> dict[str, Any]:
    at = one.first_break
    last = one.verdicts[-1]
    return {
        "action": one.subject.action,
        "target": one.subject.name,
        "where": one.subject.where,
        "applies": one.applies,
        "resolved": one.resolved,
        "absorbed": one.absorbed,
        "first-break": None if at is None else drift.commits[at].id,
        "at-the-end": {
            "kind": last.kind,
            "applies": last.applies,
            "proposal": last.proposal,
            "to": last.to,
            "likeness": last.likeness,
            "evidence": last.evidence,
        },
    }


def percent(value: float) -> str:
    """Return a share as it is shown."""
    return f"{100 * value:.1f} %"


def curve_rows(listed: list[Curve]) -> list[tuple[str, ...]]:
    """Return a row for each curve: its name, its mean, on how many commits it is whole, and where it ends."""
    return [
        (one.name, percent(one.mean), f"{one.whole} of {len(one.shares)}", percent(one.shares[-1])) for one in listed
    ]


def change_rows(drift: Drift) -> list[tuple[str, ...]]:
    """Return a row for each change that does not apply everywhere, the least lasting first."""
    broken = [one for one in (*drift.operations, *drift.edits) if one.first_break is not None or one.absorbed]
    return [_row(drift, one) for one in sorted(broken, key=lambda one: (one.applies, one.subject.name))]


def _row(drift: Drift, one: Survival) -> tuple[str, ...]:
    at, last = one.first_break, one.verdicts[-1]
    first = "" if at is None else str(drift.commits[at])
    fate = f"{last.kind} → {last.to}" if last.to else last.kind
    return percent(one.applies), percent(one.resolved), one.subject.action, one.subject.name, fate, first
