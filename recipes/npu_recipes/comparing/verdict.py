"""Verdict: two groups of runs and limits → every metric measured, and those with a limit judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from npu_recipes.comparing.curves import Curve, curve_of
from npu_recipes.comparing.limits import LISTED, Limit, limit_of, unused
from npu_recipes.comparing.measures import Aligned, Measure, align, measure
from npu_recipes.errors import Problem
from npu_recipes.runs.series import Run

Status = Literal["within", "beyond", "not judged", "not comparable"]
Verdict = Literal["within", "beyond", "unusable"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """One metric that both sides logged.

    Args:
        metric: its name.
        status: ``not judged`` where it has no limit, ``not comparable`` where no step can be compared.
        limit: the largest mean error it may have; None where it has none.
        threshold: the error above which a step is called diverging.
        measure: how far the sides lie apart.
        reference: one side's curve.
        run: the other's.
        aligned: both, at the steps they share.
        notes: what has to be known to read the numbers.
    """

    metric: str
    status: Status
    limit: float | None
    threshold: float
    measure: Measure
    reference: Curve
    run: Curve
    aligned: Aligned
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """All of it.

    Args:
        verdict: ``unusable`` where a limit cannot be told to be kept, and none is broken.
        reference: the runs to trust.
        run: the runs to judge.
        metrics: what both logged; first what was judged, the worst of it before all.
        only_reference: metrics of that side alone.
        only_run: metrics of the other side alone.
        problems: why it is unusable.
    """

    verdict: Verdict
    reference: tuple[Run, ...]
    run: tuple[Run, ...]
    metrics: tuple[Judged, ...]
    only_reference: tuple[str, ...]
    only_run: tuple[str, ...]
    problems: tuple[Problem, ...]


_RANK: dict[Status, int] = {"beyond": 0, "not comparable": 1, "within": 2, "not judged": 3}


def compare(
    reference: Sequence[Run], run: Sequence[Run], limits: Sequence[Limit], *, steps: tuple[int | None, int | None]
) -> Comparison:
    """Compare two groups of runs.

    Args:
        reference: the runs to trust.
        run: the runs to judge.
        limits: the first that fits a metric counts.
        steps: the first and the last step that count; None for no bound.
    """
    ours, theirs = _names(reference), _names(run)
    both = [name for name in ours if name in theirs]
    judged = sorted((_judged(name, reference, run, limits, steps) for name in both), key=lambda one: _RANK[one.status])
    problems = tuple(_problems(judged, limits, both))
    beyond = any(one.status == "beyond" for one in judged)
    return Comparison(
        verdict="beyond" if beyond else "unusable" if problems else "within",
        reference=tuple(reference),
        run=tuple(run),
        metrics=tuple(judged),
        only_reference=tuple(name for name in ours if name not in theirs),
        only_run=tuple(name for name in theirs if name not in ours),
        problems=problems,
    )


def _names(runs: Sequence[Run]) -> dict[str, None]:
    return dict.fromkeys(name for run in runs for name in run.metrics)


def _judged(
    name: str, one: Sequence[Run], other: Sequence[Run], limits: Sequence[Limit], steps: tuple[int | None, int | None]
) -> Judged:
    reference, run = curve_of(name, one), curve_of(name, other)
    limit = limit_of(name, limits)
    threshold = LISTED if limit is None or limit.value is None else limit.value
    aligned = align(reference, run, first=steps[0], last=steps[1])
    measured = measure(aligned, threshold)
    return Judged(
        metric=name,
        status=_status(measured, limit),
        limit=None if limit is None else limit.value,
        threshold=threshold,
        measure=measured,
        reference=reference,
        run=run,
        aligned=aligned,
        notes=(*_notes(reference, run, aligned, measured, (len(one), len(other))), *_drift(measured, limit)),
    )


def _status(measured: Measure, limit: Limit | None) -> Status:
    if limit is None or limit.value is None:
        return "not judged"
    if measured.broken or (measured.steps and (measured.mean is None or measured.mean > limit.value)):
        return "beyond"
    # The few steps that could be compared say nothing of the many at which the reference is zero and the run is not.
    return "within" if measured.steps > measured.left_out.zero else "not comparable"


def _notes(reference: Curve, run: Curve, aligned: Aligned, measured: Measure, groups: tuple[int, int]) -> Iterator[str]:
    """Yield what has to be known to read the numbers of a metric."""
    for side, curve, size in (("reference", reference, groups[0]), ("run", run, groups[1])):
        if curve.runs < size:
            yield f"only {curve.runs} of the {size} runs of the {side} logged it"
    shared = len(aligned.steps)
    if not shared:
        yield f"no step in common: the reference has {_span(reference)}, the run {_span(run)}"
    elif shared < max(len(reference.steps), len(run.steps)):
        yield f"{shared} steps in common: the reference has {_span(reference)}, the run {_span(run)}"
    if measured.broken:
        yield f"the run is NaN or infinite at {measured.broken} steps where the reference is not"
    if measured.left_out.not_finite:
        yield f"{measured.left_out.not_finite} steps left out: the reference is NaN or infinite there"
    if measured.left_out.zero:
        yield f"{measured.left_out.zero} steps left out: the reference is zero there and the run is not"


def _drift(measured: Measure, limit: Limit | None) -> Iterator[str]:
    """Yield that a mean is within its limit and the end of the run is not."""
    if measured.for_good is not None and _status(measured, limit) == "within":
        yield f"within its limit in the mean, and above it at every step from {measured.for_good} on: it drifts away"


def _span(curve: Curve) -> str:
    if not len(curve.steps):
        return "none that all its runs share"
    every = int(np.median(np.diff(curve.steps))) if len(curve.steps) > 1 else 1
    often = f", every {every}" if every > 1 else ""
    return f"{len(curve.steps)} from {curve.steps[0]} to {curve.steps[-1]}{often}"


def _problems(judged: Sequence[Judged], limits: Sequence[Limit], both: Sequence[str]) -> Iterator[Problem]:
    """Yield why nobody can say that the limits are kept."""
    for limit in unused(limits, both):
        fix = f"name one of those that both have: {_listed(both)}"
        yield Problem(where=limit.pattern, what="has a limit, and is no metric that both sides logged", fix=fix)
    with_limit = [one for one in judged if one.limit is not None]
    asked = [limit for limit in limits if limit.given]
    for one in with_limit:
        if one.status == "not comparable" and limit_of(one.metric, asked):
            yield Problem(where=one.metric, what=f"has a limit, and no step can be compared; {'; '.join(one.notes)}")
    if not any(one.status in {"within", "beyond"} for one in with_limit):
        what = "no metric with a limit can be compared"
        fix = f"--limit 'NAME=4%', for one that both have: {_listed(both)}"
        yield Problem(where="the comparison", what=what, fix=fix)


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "") or "none"
