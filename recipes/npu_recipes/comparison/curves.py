"""Curves: one metric of several runs → its mean by step, and how far the curves of two sides lie apart.

The measure is that of verl's page on Ascend: the mean over N steps of ``|run - reference| / |reference|``. Steps
without that value are left out and counted; if the run alone has no finite value, it has diverged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

from npu_recipes.runs.series import Run, Steps, Values

# The first and the last step that count; None for no bound.
Bounds = tuple[int | None, int | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class MeanCurve:
    """A metric of a group of runs."""

    steps: Steps  # ascending; those that every one of the runs has
    mean: Values  # over the runs
    spread: Values | None  # the standard deviation over the runs; None for a single one
    runs: int  # how many of the group have the metric

    @property
    def relative_spread(self) -> float | None:
        """The spread as a share of the mean, averaged over all steps; None if there is none."""
        if self.spread is None:
            return None
        with np.errstate(all="ignore"):
            share = self.spread / np.abs(self.mean)
        known = share[np.isfinite(share)]
        return float(known.mean()) if len(known) else None


def curve_of(metric: str, runs: Sequence[Run]) -> MeanCurve:
    """Return a metric's curve over the runs that have it; at least one has to."""
    series = [run.metrics[metric] for run in runs if metric in run.metrics]
    if len(series) == 1:
        return MeanCurve(steps=series[0].steps, mean=series[0].values, spread=None, runs=1)
    steps = reduce(np.intersect1d, [one.steps for one in series])
    values = np.stack([one.values[np.searchsorted(one.steps, steps)] for one in series])
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinity are reported by the measure
        return MeanCurve(steps=steps, mean=values.mean(axis=0), spread=values.std(axis=0, ddof=1), runs=len(series))


# By what share an error at its limit may be above it: 1.04 differs from 1 by a little more than 0.04 in binary.
_ROUNDING = 1e-9
# Fewer steps than that at the end of a run are its noise, and no divergence that lasts.
_LASTING = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class Aligned:
    """Two curves at the steps that both have."""

    steps: Steps  # those steps
    reference: Values  # the one curve there
    run: Values  # the other
    error: Values  # of each step; NaN if it is not defined, infinite if the run alone is not finite


@dataclass(frozen=True, kw_only=True)
class SkippedSteps:
    """At how many common steps there is no relative error."""

    zero: int  # the reference is zero and the run is not
    not_finite: int  # the reference is NaN or infinite


@dataclass(frozen=True, kw_only=True)
class Measure:
    """How far a run lies from its reference; None for a number that does not exist."""

    steps: int  # over how many steps the mean is taken
    mean: float | None  # the mean relative error
    largest: float | None  # the largest relative error
    largest_at: int | None  # its step
    # The sum of the differences by the sum of the reference: tells more where the reference is near zero.
    to_mean: float | None
    broken: int  # at how many steps the run is NaN, infinite or beyond all numbers, and the reference is not
    left_out: SkippedSteps  # steps without a relative error
    first: int | None  # the first step at which the error is above the threshold
    for_good: int | None  # the first step from which on it always is, where that is so for five steps and more


def most(limit: float) -> float:
    """Return the error above which a limit is broken: an error at the limit keeps it."""
    return limit * (1 + _ROUNDING)


def within(steps: Steps, bounds: Bounds) -> npt.NDArray[np.bool_]:
    """Return which of the steps count."""
    first, last = bounds
    counted = np.ones(len(steps), dtype=bool)
    if first is not None:
        counted &= steps >= first
    if last is not None:
        counted &= steps <= last
    return counted


def align(reference: MeanCurve, run: MeanCurve, bounds: Bounds = (None, None)) -> Aligned:
    """Return both curves at their common steps, as far as these count."""
    steps, here, there = np.intersect1d(reference.steps, run.steps, assume_unique=True, return_indices=True)
    wanted = within(steps, bounds)
    one, other = reference.mean[here][wanted], run.mean[there][wanted]
    with np.errstate(all="ignore"):  # divisions by zero are replaced below
        error = np.abs(other - one) / np.abs(one)
    known = np.isfinite(one)
    error[known & (one == 0)] = np.nan
    error[known & (one == other)] = 0.0
    error[known & ~np.isfinite(other)] = np.inf
    error[~known] = np.nan
    return Aligned(steps=steps[wanted], reference=one, run=other, error=error)


def measure(aligned: Aligned, threshold: float) -> Measure:
    """Measure; the curves diverge at a step if its error is above `threshold`."""
    error, known = aligned.error, np.isfinite(aligned.reference)
    used = np.isfinite(error)
    worst = int(np.argmax(np.where(used, error, -1.0))) if used.any() else None
    first, for_good = _divergence(aligned, threshold)
    return Measure(
        steps=int(used.sum()),
        mean=_mean(error[used]),
        largest=float(error[worst]) if worst is not None else None,
        largest_at=int(aligned.steps[worst]) if worst is not None else None,
        to_mean=_to_mean(aligned, known & np.isfinite(aligned.run)),
        broken=int(np.isposinf(error).sum()),
        left_out=SkippedSteps(zero=int((np.isnan(error) & known).sum()), not_finite=int((~known).sum())),
        first=first,
        for_good=for_good,
    )


def _mean(errors: Values) -> float | None:
    with np.errstate(over="ignore"):
        value = errors.mean() if len(errors) else np.nan
    return float(value) if np.isfinite(value) else None


def _to_mean(aligned: Aligned, both: npt.NDArray[np.bool_]) -> float | None:
    with np.errstate(all="ignore"):
        size = np.abs(aligned.reference[both]).sum()
        value = np.abs(aligned.run[both] - aligned.reference[both]).sum() / size
    return float(value) if size > 0 and np.isfinite(value) else None


def _divergence(aligned: Aligned, threshold: float) -> tuple[int | None, int | None]:
    """Return the first step above the threshold, and the first after the last one that is not."""
    judged = ~np.isnan(aligned.error)
    steps, above = aligned.steps[judged], aligned.error[judged] > most(threshold)
    if not above.any():
        return None, None
    below = np.flatnonzero(~above)
    lasting = int(below[-1]) + 1 if len(below) else 0
    for_good = len(steps) - lasting >= min(_LASTING, len(steps))
    return int(steps[above.argmax()]), int(steps[lasting]) if for_good else None
