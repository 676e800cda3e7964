"""Judgement: a metric of two groups of runs, and its limit → how far it lies apart, and whether within the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from npu_recipes.comparison.curves import Aligned, Bounds, MeanCurve, Measure, align, curve_of, measure, most, within
from npu_recipes.comparison.limits import LISTED, Limit, limit_of
from npu_recipes.errors import listed
from npu_recipes.runs.series import Run, Series, Steps

Status = Literal["within", "beyond", "not judged", "not comparable"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """How metrics are judged."""

    limits: Sequence[Limit]  # the first that fits a metric counts
    steps: Bounds  # the first and the last step that count
    least: int  # how many steps a metric has to be compared at, to be judged


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """One metric that both sides logged."""

    metric: str  # its name
    status: Status  # ``not judged`` where it has no limit, ``not comparable`` where too few steps can be compared
    limit: float | None  # the largest mean error it may have; None where it has none
    threshold: float  # the error above which a step is called diverging
    measure: Measure  # how far the sides lie apart
    reference: MeanCurve  # one side's curve
    run: MeanCurve  # the other's
    aligned: Aligned  # both, at the steps they share
    notes: tuple[str, ...]  # what has to be known to read the numbers
    doubts: tuple[str, ...] = ()  # what a mean within the limit would hide


def judge(name: str, reference: Sequence[Run], run: Sequence[Run], asked: Asked) -> Judged:
    """Measure a metric that runs of both sides have, and judge it where it has a limit."""
    curves = curve_of(name, reference), curve_of(name, run)
    limit = limit_of(name, asked.limits)
    threshold = LISTED if limit is None or limit.value is None else limit.value
    aligned = align(*curves, asked.steps)
    measured = measure(aligned, threshold)
    status = _status(measured, limit, asked.least)
    doubts: list[str] = []
    if status != "not judged":
        doubts += _doubts(name, reference, run, asked)
        doubts += _unmatched(name, run, curves[0], aligned, asked.steps)
    if status == "within":
        doubts += _cancellation(name, reference, run, asked.steps, threshold)
    if doubts and status == "within":
        status = "not comparable"
    notes = [*doubts, *_seeds(name, reference, curves[0], "reference"), *_seeds(name, run, curves[1], "run")]
    notes += _steps(*curves, aligned, measured, asked.steps)
    if status == "within" and measured.for_good is not None:
        until = f"above it at every step from {measured.for_good} on"
        notes.append(f"within its limit in the mean, and {until}: it drifts away")
    if status == "not comparable" and 0 < measured.steps < asked.least:
        notes.append(f"compared at {measured.steps} steps: --min-steps wants {asked.least}")
    return Judged(
        metric=name,
        status=status,
        limit=None if limit is None else limit.value,
        threshold=threshold,
        measure=measured,
        reference=curves[0],
        run=curves[1],
        aligned=aligned,
        notes=tuple(notes),
        doubts=tuple(doubts),
    )


def _doubts(metric: str, reference: Sequence[Run], run: Sequence[Run], asked: Asked) -> Iterator[str]:
    for runs, others in ((reference, run), (run, reference)):
        for one in runs:
            if metric in one.metrics:
                yield from _holes(metric, one, others, asked.steps)
    yield from _missing(metric, reference)
    yield from _missing(metric, run)


def _missing(metric: str, runs: Sequence[Run]) -> Iterator[str]:
    """Yield which of several seeds have no value of a metric that others have: one that was NaN throughout has none.

    Exports of one metric each share no other metric, and are no seeds.
    """
    shared: set[str] = set()
    for run in runs:
        if metric in run.metrics:
            shared.update(run.metrics)
    for run in runs:
        if metric not in run.metrics and not shared.isdisjoint(run.metrics):
            yield f"{run.name} has no value of it, and others beside it have: NaN, or not logged?"


def _status(measured: Measure, limit: Limit | None, least: int) -> Status:
    if limit is None or limit.value is None:
        return "not judged"
    if measured.broken or (measured.steps and (measured.mean is None or measured.mean > most(limit.value))):
        return "beyond"
    # The few steps that could be compared say nothing of the many at which the reference is zero and the run is not,
    # or is no number.
    left_out = measured.left_out.zero + measured.left_out.not_finite
    if hidden(measured, limit.value):
        return "not comparable"
    return "within" if measured.steps > left_out and measured.steps >= least else "not comparable"


def hidden(measured: Measure, limit: float) -> bool:
    """Return whether the steps that are left out, where the reference is zero, hold what the limit does not allow."""
    return bool(measured.left_out.zero) and (measured.to_mean is None or measured.to_mean > most(limit))


_SHOWN = 5
# How many of its usual intervals a metric has to be away; for one that is in every record, that many records.
_LONG = 5
# Fewer values have no usual interval: then that of the other side counts.
_LEAST = 3


def _holes(metric: str, run: Run, others: Sequence[Run], bounds: Bounds) -> Iterator[str]:
    """Yield the gaps of a metric: where the run continues without it.

    A table has an empty cell for a value that was not logged, and for NaN as pandas writes it: if a metric that came
    at every tenth record is missing for fifty and more, nobody can tell which it is. Nor can they if it is missing from
    the beginning, or has hardly a value, unlike on the other side.
    """
    records = run.steps if run.records is None else run.records
    records = records[within(records, bounds)]
    seen = [one.metrics[metric].steps for one in others if metric in one.metrics]
    own = np.searchsorted(records, np.intersect1d(run.metrics[metric].steps, records))
    theirs = np.searchsorted(records, np.intersect1d(np.concatenate(seen), records))
    enough = own if len(own) >= _LEAST else theirs
    if len(enough) < _LEAST:
        return
    usual = np.median(np.diff(enough))
    ends = np.concatenate([[-1], own, [len(records)]])
    missed = np.searchsorted(theirs, ends[1:]) > np.searchsorted(theirs, ends[:-1], side="right")
    # Both may have begun late, or be validated seldom; a run that continues without it is a gap by itself.
    known = (ends[:-1] >= 0) & (len(own) >= _LEAST)
    without = np.diff(ends) - 1
    for index in np.flatnonzero((without >= _LONG * usual) & (known | missed)).tolist():
        where = f"after step {records[ends[index]]}" if index else "from the first on"
        yield f"{run.name} continues without it for {without[index]} steps {where}: NaN, or not logged?"


def _cancellation(
    metric: str, reference: Sequence[Run], run: Sequence[Run], bounds: Bounds, limit: float
) -> Iterator[str]:
    """Yield which seeds are farther from the reference than the limit and the noise of the reference's seeds allow.

    A mean of seeds is judged since single seeds are noisy, at the steps that all seeds have: errors may cancel in it,
    and a seed that ended first hides what the others did since. The noise is how far a seed of the reference is from
    the mean of the others; a single reference shows none.
    """
    ours = [one.metrics[metric] for one in reference if metric in one.metrics]
    own, mean = _noise(ours, bounds), _mean(ours)
    far = []
    for one in run:
        error = _error(mean, one.metrics[metric], bounds) if metric in one.metrics else 0.0
        if error > most(limit + own):
            far.append(f"{one.name} by {error:.2%}")
    if far:
        known = f"those of the reference differ by {own:.2%}" if len(ours) > 1 else "one reference cannot explain that"
        yield (
            "errors of seeds cancel in the mean, or are where not all seeds have steps: "
            f"alone, they are beyond the limit: {listed(far, _SHOWN)}; {known}"
        )


def _noise(seeds: Sequence[Series], bounds: Bounds) -> float:
    """Return how far a seed is from the mean of the others, at most; 0 if there are no others."""
    found = 0.0
    for place, series in enumerate(seeds):
        others = [*seeds[:place], *seeds[place + 1 :]]
        error = _error(_mean(others), series, bounds) if others else 0.0
        if np.isfinite(error):  # a reference that is broken explains nothing
            found = max(found, error)
    return found


def _mean(seeds: Sequence[Series]) -> Series:
    """Return the mean of seeds, at each step of those that have it."""
    steps, place = np.unique(np.concatenate([one.steps for one in seeds]), return_inverse=True)
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are reported by the measure
        sums = np.bincount(place, weights=np.concatenate([one.values for one in seeds]))
    return Series(steps=steps, values=sums / np.bincount(place))


def _error(reference: Series, run: Series, bounds: Bounds) -> float:
    """Return the mean relative error, or that of the sums if it leaves out steps at which the reference is zero."""
    one = MeanCurve(steps=reference.steps, mean=reference.values, spread=None, runs=1)
    other = MeanCurve(steps=run.steps, mean=run.values, spread=None, runs=1)
    found = measure(align(one, other, bounds), threshold=0.0)
    if found.broken or (found.left_out.zero and found.to_mean is None):
        return np.inf
    return max(found.mean or 0.0, (found.to_mean or 0.0) if found.left_out.zero else 0.0)


def _seeds(metric: str, runs: Sequence[Run], curve: MeanCurve, side: str) -> Iterator[str]:
    """Yield which of several seeds lack steps: only steps that all of them have are compared."""
    if curve.runs < len(runs):
        yield f"only {curve.runs} of the {len(runs)} runs of the {side} logged it"
    steps = {run.name: run.metrics[metric].steps for run in runs if metric in run.metrics}
    longest = max(map(len, steps.values()))
    if longest > len(curve.steps):
        shortest = min(steps, key=lambda name: len(steps[name]))
        span = _span_of(steps[shortest]) if len(steps[shortest]) else "none"
        yield f"{len(curve.steps)} steps are in all runs of the {side}, of up to {longest}: {shortest} has {span}"


def _steps(reference: MeanCurve, run: MeanCurve, aligned: Aligned, measured: Measure, bounds: Bounds) -> Iterator[str]:
    """Yield which steps were compared, and what was left out of them."""
    shared = len(aligned.steps)
    wanted = max(within(reference.steps, bounds).sum(), within(run.steps, bounds).sum())
    first, last = ("any" if bound is None else bound for bound in bounds)
    asked = "" if bounds == (None, None) else f" from {first} to {last}"
    if not shared or shared < wanted:
        count = f"{shared} steps" if shared else "no step"
        yield f"{count}{asked} in common: the reference has {_span(reference)}, the run {_span(run)}"
    if measured.broken:
        yield f"the run is NaN or infinite at {measured.broken} steps where the reference is not"
    if measured.left_out.not_finite:
        yield f"{measured.left_out.not_finite} steps left out: the reference is NaN or infinite there"
    if measured.left_out.zero:
        share = "" if measured.to_mean is None else f"; with them, error / mean is {measured.to_mean:.2%}"
        yield f"{measured.left_out.zero} steps left out: the reference is zero there and the run is not{share}"


def _unmatched(
    metric: str, runs: Sequence[Run], reference: MeanCurve, aligned: Aligned, bounds: Bounds
) -> Iterator[str]:
    """Yield which runs are NaN or infinite at steps that are not compared, and so in no error."""
    known = np.union1d(aligned.steps, reference.steps[~np.isfinite(reference.mean)])
    for run in runs:
        if metric in run.metrics:
            steps, values = run.metrics[metric].steps, run.metrics[metric].values
            broken = steps[within(steps, bounds) & ~np.isfinite(values) & ~np.isin(steps, known)]
            if len(broken):
                where = f"{len(broken)} steps that are not compared, the first {broken[0]}"
                yield f"{run.name} is NaN or infinite at {where}"


def _span(curve: MeanCurve) -> str:
    return _span_of(curve.steps) if len(curve.steps) else "none that all its runs share"


def _span_of(steps: Steps) -> str:
    every = int(np.median(np.diff(steps))) if len(steps) > 1 else 1
    often = f", every {every}" if every > 1 else ""
    return f"{len(steps)} from {steps[0]} to {steps[-1]}{often}"
