"""Curves: one metric of several runs → its mean by step, and how far the runs spread around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from npu_recipes.runs.series import Run, Steps, Values


@dataclass(frozen=True, kw_only=True, eq=False)
class Curve:
    """A metric of a group of runs.

    Args:
        steps: ascending; those that every one of the runs has.
        mean: over the runs.
        spread: the standard deviation over the runs; None for a single one.
        runs: how many of the group have the metric.
    """

    steps: Steps
    mean: Values
    spread: Values | None
    runs: int

    @property
    def relative_spread(self) -> float | None:
        """The spread, as a share of the mean, in the mean over all steps; None where there is none to be had."""
        if self.spread is None:
            return None
        with np.errstate(all="ignore"):
            share = self.spread / np.abs(self.mean)
        known = share[np.isfinite(share)]
        return float(known.mean()) if len(known) else None


def curve_of(metric: str, runs: Sequence[Run]) -> Curve:
    """Return a metric's curve over the runs that have it; at least one has to."""
    series = [run.metrics[metric] for run in runs if metric in run.metrics]
    if len(series) == 1:
        return Curve(steps=series[0].steps, mean=series[0].values, spread=None, runs=1)
    steps = reduce(np.intersect1d, [one.steps for one in series])
    values = np.stack([one.values[np.searchsorted(one.steps, steps)] for one in series])
    with np.errstate(invalid="ignore", over="ignore"):  # of NaN and infinity, which are told of by whoever measures
        return Curve(steps=steps, mean=values.mean(axis=0), spread=values.std(axis=0, ddof=1), runs=len(series))
