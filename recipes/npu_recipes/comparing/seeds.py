"""Seeds: several runs on a side → whether their errors cancel in the mean that is judged, or stand where no mean is.

A mean is judged since single seeds are noisy, at the steps that all seeds have: one that ended first hides what the
others did since. How noisy they are, those of the reference say: as far as one of them is from the mean of the others,
a seed of the run may be on top of its limit. A single reference says nothing of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from npu_recipes.comparing.curves import Curve
from npu_recipes.comparing.measures import align, measure, most
from npu_recipes.runs.series import Run, Series

_SHOWN = 5
# The first and the last step that count; None for no bound.
Bounds = tuple[int | None, int | None]


def cancelling(
    metric: str, reference: Sequence[Run], run: Sequence[Run], bounds: Bounds, limit: float
) -> Iterator[str]:
    """Yield which seeds of a run are farther from the reference than the limit and the reference's own seeds explain.

    Args:
        metric: one whose mean is within its limit.
        reference: the runs to trust.
        run: the runs to judge.
        bounds: the first and the last step that count.
        limit: the largest mean relative error.
    """
    ours = [one.metrics[metric] for one in reference if metric in one.metrics]
    own, mean = _own(ours, bounds), _mean(ours)
    errors = [(one.name, _error(mean, one.metrics[metric], bounds)) for one in run if metric in one.metrics]
    far = [f"{name} by {error:.2%}" for name, error in errors if error > most(limit + own)]
    if far:
        listed = ", ".join(far[:_SHOWN]) + (f", … ({len(far)} in all)" if len(far) > _SHOWN else "")
        known = f"those of the reference differ by {own:.2%}" if len(ours) > 1 else "one reference cannot explain that"
        yield (
            "errors of seeds cancel in the mean, or are where not all seeds have steps: "
            f"alone, they are beyond the limit: {listed}; {known}"
        )


def _own(seeds: Sequence[Series], bounds: Bounds) -> float:
    """Return how far a seed is from the mean of the others, at most; 0 where there are no others."""
    if len(seeds) == 1:
        return 0.0
    others = (_mean([*seeds[:place], *seeds[place + 1 :]]) for place in range(len(seeds)))
    errors = (_error(mean, series, bounds) for mean, series in zip(others, seeds, strict=True))
    return max(filter(np.isfinite, errors), default=0.0)  # a reference that is broken explains nothing


def _mean(seeds: Sequence[Series]) -> Series:
    """Return the mean of seeds, at each step of those that have it."""
    steps, place = np.unique(np.concatenate([one.steps for one in seeds]), return_inverse=True)
    with np.errstate(invalid="ignore", over="ignore"):  # of NaN and infinity, which are told of by whoever measures
        sums = np.bincount(place, weights=np.concatenate([one.values for one in seeds]))
    return Series(steps=steps, values=sums / np.bincount(place))


def _error(reference: Series, run: Series, bounds: Bounds) -> float:
    """Return the mean relative error, or that of the sums where it leaves steps out at which the reference is zero."""
    one, other = (Curve(steps=series.steps, mean=series.values, spread=None, runs=1) for series in (reference, run))
    found = measure(align(one, other, first=bounds[0], last=bounds[1]), threshold=0.0)
    if found.broken or (found.left_out.zero and found.to_mean is None):
        return np.inf
    return max(found.mean or 0.0, (found.to_mean or 0.0) if found.left_out.zero else 0.0)
