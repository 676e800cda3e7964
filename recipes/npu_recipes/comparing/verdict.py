"""Verdict: two groups of runs and limits → every metric measured, and those with a limit judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from npu_recipes.comparing.curves import Curve, curve_of
from npu_recipes.comparing.holes import holes
from npu_recipes.comparing.limits import LISTED, Limit, limit_of, unused
from npu_recipes.comparing.measures import Aligned, Measure, align, measure
from npu_recipes.errors import Problem
from npu_recipes.runs.series import Run, Steps

Status = Literal["within", "beyond", "not judged", "not comparable"]
Verdict = Literal["within", "beyond", "unusable"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """One metric that both sides logged.

    Args:
        metric: its name.
        status: ``not judged`` where it has no limit, ``not comparable`` where too few steps can be compared.
        limit: the largest mean error it may have; None where it has none.
        threshold: the error above which a step is called diverging.
        measure: how far the sides lie apart.
        reference: one side's curve.
        run: the other's.
        aligned: both, at the steps they share.
        notes: what has to be known to read the numbers.
        holes: where the run went on without the metric.
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
    holes: tuple[str, ...] = ()


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
        one_sided: metrics with a limit that one side alone has, so that nobody can judge them.
    """

    verdict: Verdict
    reference: tuple[Run, ...]
    run: tuple[Run, ...]
    metrics: tuple[Judged, ...]
    only_reference: tuple[str, ...]
    only_run: tuple[str, ...]
    problems: tuple[Problem, ...]
    one_sided: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What counts, as `compare` takes it."""

    limits: Sequence[Limit]
    steps: tuple[int | None, int | None]
    least: int


_RANK: dict[Status, int] = {"beyond": 0, "not comparable": 1, "within": 2, "not judged": 3}


def compare(
    reference: Sequence[Run],
    run: Sequence[Run],
    limits: Sequence[Limit],
    *,
    steps: tuple[int | None, int | None],
    least: int = 1,
) -> Comparison:
    """Compare two groups of runs.

    Args:
        reference: the runs to trust.
        run: the runs to judge.
        limits: the first that fits a metric counts.
        steps: the first and the last step that count; None for no bound.
        least: how many steps a metric has to be compared at, to be judged.
    """
    ours, theirs = _names(reference), _names(run)
    both = [name for name in ours if name in theirs]
    asked = _Asked(limits=limits, steps=steps, least=least)
    judged = sorted((_judged(name, reference, run, asked) for name in both), key=lambda one: _RANK[one.status])
    problems = (*_unread((*reference, *run), limits), *_problems(judged, limits, both))
    alone = [name for name in (*ours, *theirs) if name not in ours or name not in theirs]
    beyond = any(one.status == "beyond" for one in judged)
    return Comparison(
        verdict="beyond" if beyond else "unusable" if problems else "within",
        reference=tuple(reference),
        run=tuple(run),
        metrics=tuple(judged),
        only_reference=tuple(name for name in ours if name not in theirs),
        only_run=tuple(name for name in theirs if name not in ours),
        problems=problems,
        one_sided=tuple(name for name in alone if limit_of(name, limits)),
    )


def _names(runs: Sequence[Run]) -> dict[str, None]:
    return dict.fromkeys(name for run in runs for name in run.metrics)


def _judged(
    name: str,
    one: Sequence[Run],
    other: Sequence[Run],
    asked: _Asked,
) -> Judged:
    reference, run = curve_of(name, one), curve_of(name, other)
    limit = limit_of(name, asked.limits)
    threshold = LISTED if limit is None or limit.value is None else limit.value
    aligned = align(reference, run, first=asked.steps[0], last=asked.steps[1])
    measured = measure(aligned, threshold)
    status = _status(measured, limit, asked.least)
    first, last = asked.steps
    away = () if status == "not judged" else tuple(_holes(name, other, first, last))
    if away and status == "within":
        status = "not comparable"
    notes = [*away, *_seeds(name, one, reference, "reference"), *_seeds(name, other, run, "run")]
    notes += [*_notes(reference, run, aligned, measured, bounds=asked.steps), *_drift(measured, status)]
    if 0 < measured.steps < asked.least and status == "not comparable":
        notes.append(f"compared at {measured.steps} steps: --min-steps wants {asked.least}")
    return Judged(
        metric=name,
        status=status,
        limit=None if limit is None else limit.value,
        threshold=threshold,
        measure=measured,
        reference=reference,
        run=run,
        aligned=aligned,
        notes=tuple(notes),
        holes=away,
    )


def _holes(metric: str, runs: Sequence[Run], first: int | None, last: int | None) -> Iterator[str]:
    for run in runs:
        if metric in run.metrics:
            yield from holes(metric, run, first=first, last=last)


def _status(measured: Measure, limit: Limit | None, least: int) -> Status:
    if limit is None or limit.value is None:
        return "not judged"
    if measured.broken or (measured.steps and (measured.mean is None or measured.mean > limit.value)):
        return "beyond"
    # The few steps that could be compared say nothing of the many at which the reference is zero and the run is not,
    # or is no number.
    left_out = measured.left_out.zero + measured.left_out.not_finite
    if _hidden(measured, limit.value):
        return "not comparable"
    return "within" if measured.steps > left_out and measured.steps >= least else "not comparable"


def _hidden(measured: Measure, limit: float) -> bool:
    """Return whether the steps that are left out, where the reference is zero, hold what the limit does not allow."""
    return bool(measured.left_out.zero) and (measured.to_mean is None or measured.to_mean > limit)


def _seeds(metric: str, runs: Sequence[Run], curve: Curve, side: str) -> Iterator[str]:
    """Yield which of several seeds leave something out: only steps that all of them have are compared."""
    if curve.runs < len(runs):
        yield f"only {curve.runs} of the {len(runs)} runs of the {side} logged it"
    steps = {run.name: run.metrics[metric].steps for run in runs if metric in run.metrics}
    longest = max(map(len, steps.values()))
    if longest > len(curve.steps):
        shortest = min(steps, key=lambda name: len(steps[name]))
        span = _span_of(steps[shortest]) if len(steps[shortest]) else "none"
        yield f"{len(curve.steps)} steps are in all runs of the {side}, of up to {longest}: {shortest} has {span}"


def _notes(
    reference: Curve, run: Curve, aligned: Aligned, measured: Measure, *, bounds: tuple[int | None, int | None]
) -> Iterator[str]:
    """Yield what has to be known to read the numbers of a metric."""
    shared = len(aligned.steps)
    wanted = [_within(curve.steps, bounds) for curve in (reference, run)]
    asked = "" if bounds == (None, None) else f" from {_bound(bounds[0])} to {_bound(bounds[1])}"
    if not shared:
        yield f"no step{asked} in common: the reference has {_span(reference)}, the run {_span(run)}"
    elif shared < max(wanted):
        yield f"{shared} steps{asked} in common: the reference has {_span(reference)}, the run {_span(run)}"
    if measured.broken:
        yield f"the run is NaN or infinite at {measured.broken} steps where the reference is not"
    if measured.left_out.not_finite:
        yield f"{measured.left_out.not_finite} steps left out: the reference is NaN or infinite there"
    if measured.left_out.zero:
        share = "" if measured.to_mean is None else f"; with them, error / mean is {measured.to_mean:.2%}"
        yield f"{measured.left_out.zero} steps left out: the reference is zero there and the run is not{share}"


def _within(steps: Steps, bounds: tuple[int | None, int | None]) -> int:
    first, last = bounds
    kept = steps if first is None else steps[steps >= first]
    return len(kept if last is None else kept[kept <= last])


def _bound(step: int | None) -> str:
    return "any" if step is None else str(step)


def _drift(measured: Measure, status: Status) -> Iterator[str]:
    """Yield that a mean is within its limit and the end of the run is not."""
    if measured.for_good is not None and status == "within":
        yield f"within its limit in the mean, and above it at every step from {measured.for_good} on: it drifts away"


def _span(curve: Curve) -> str:
    return _span_of(curve.steps) if len(curve.steps) else "none that all its runs share"


def _span_of(steps: Steps) -> str:
    every = int(np.median(np.diff(steps))) if len(steps) > 1 else 1
    often = f", every {every}" if every > 1 else ""
    return f"{len(steps)} from {steps[0]} to {steps[-1]}{often}"


def _problems(judged: Sequence[Judged], limits: Sequence[Limit], both: Sequence[str]) -> Iterator[Problem]:
    """Yield why nobody can say that the limits are kept."""
    for limit in unused(limits, both):
        fix = f"name one of those that both have: {_listed(both)}"
        yield Problem(where=limit.pattern, what="has a limit, and is no metric that both sides logged", fix=fix)
    with_limit = [one for one in judged if one.limit is not None]
    asked = [limit for limit in limits if limit.given]
    for one in with_limit:
        # Of what differs, others within their limits must not make a comparison that is.
        if one.status == "not comparable" and (
            one.holes or limit_of(one.metric, asked) or _hidden(one.measure, one.threshold)
        ):
            yield Problem(where=one.metric, what=f"has a limit, and cannot be judged by it; {'; '.join(one.notes)}")
    if not any(one.status in {"within", "beyond"} for one in with_limit):
        what = "no metric with a limit can be compared"
        fix = f"--limit 'NAME=4%', for one that both have: {_listed(both)}"
        yield Problem(where="the comparison", what=what, fix=fix)


def _unread(runs: Sequence[Run], limits: Sequence[Limit]) -> Iterator[Problem]:
    """Yield which metrics with a limit cannot be told; not the texts that a pattern for many fits, too."""
    meant = {*_names(runs), *(limit.pattern for limit in limits)}
    for run in runs:
        for metric, what in run.unread.items():
            if metric in meant and limit_of(metric, limits):
                fix = f"log one run's numbers, or nan; or give it no limit: --limit '{metric}=none'"
                yield Problem(where=f"{run.name}: {metric}", what=f"has a limit, and {what}", fix=fix)


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "") or "none"
