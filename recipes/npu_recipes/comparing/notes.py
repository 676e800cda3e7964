"""Notes: what has to be known to read the numbers of a metric, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from npu_recipes.comparing.curves import Curve
from npu_recipes.comparing.measures import Aligned, Measure
from npu_recipes.runs.series import Run, Steps


def of_seeds(metric: str, runs: Sequence[Run], curve: Curve, side: str) -> Iterator[str]:
    """Yield which of several seeds leave something out: only steps that all of them have are compared."""
    if curve.runs < len(runs):
        yield f"only {curve.runs} of the {len(runs)} runs of the {side} logged it"
    steps = {run.name: run.metrics[metric].steps for run in runs if metric in run.metrics}
    longest = max(map(len, steps.values()))
    if longest > len(curve.steps):
        shortest = min(steps, key=lambda name: len(steps[name]))
        span = _span_of(steps[shortest]) if len(steps[shortest]) else "none"
        yield f"{len(curve.steps)} steps are in all runs of the {side}, of up to {longest}: {shortest} has {span}"


def of_steps(
    reference: Curve, run: Curve, aligned: Aligned, measured: Measure, *, bounds: tuple[int | None, int | None]
) -> Iterator[str]:
    """Yield which steps were compared, and what was left out of them."""
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


def of_unmatched(
    metric: str, runs: Sequence[Run], reference: Curve, aligned: Aligned, bounds: tuple[int | None, int | None]
) -> Iterator[str]:
    """Yield where runs are NaN or infinite beside the steps that are compared: no error tells of those."""
    told = np.union1d(aligned.steps, reference.steps[~np.isfinite(reference.mean)])
    for run in runs:
        if metric in run.metrics:
            steps, values = run.metrics[metric].steps, run.metrics[metric].values
            broken = steps[_counted(steps, bounds) & ~np.isfinite(values) & ~np.isin(steps, told)]
            if len(broken):
                where = f"{len(broken)} steps that are not compared, the first {broken[0]}"
                yield f"{run.name} is NaN or infinite at {where}"


def _within(steps: Steps, bounds: tuple[int | None, int | None]) -> int:
    return int(_counted(steps, bounds).sum())


def _counted(steps: Steps, bounds: tuple[int | None, int | None]) -> npt.NDArray[np.bool_]:
    first, last = bounds
    counted = np.ones(len(steps), dtype=bool)
    counted &= steps >= first if first is not None else True
    counted &= steps <= last if last is not None else True
    return counted


def _bound(step: int | None) -> str:
    return "any" if step is None else str(step)


def of_few(measured: Measure, least: int) -> Iterator[str]:
    """Yield that fewer steps were compared than somebody wants."""
    if 0 < measured.steps < least:
        yield f"compared at {measured.steps} steps: --min-steps wants {least}"


def of_drift(measured: Measure) -> Iterator[str]:
    """Yield that the end of a run whose mean is within its limit is not."""
    if measured.for_good is not None:
        yield f"within its limit in the mean, and above it at every step from {measured.for_good} on: it drifts away"


def _span(curve: Curve) -> str:
    return _span_of(curve.steps) if len(curve.steps) else "none that all its runs share"


def _span_of(steps: Steps) -> str:
    every = int(np.median(np.diff(steps))) if len(steps) > 1 else 1
    often = f", every {every}" if every > 1 else ""
    return f"{len(steps)} from {steps[0]} to {steps[-1]}{often}"
