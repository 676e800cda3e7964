"""Seeds: several runs on a side → whether their errors cancel in the mean that is judged.

A mean is judged since single seeds are noisy. How noisy, those of the reference say: as far as one of them is from the
mean of the others, a seed of the run may be on top of its limit. A single reference says nothing of that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from npu_recipes.comparing.curves import Curve
from npu_recipes.comparing.measures import align, measure, most
from npu_recipes.runs.series import Run, Steps, Values

_SHOWN = 5


def cancelling(metric: str, reference: Sequence[Run], run: Sequence[Run], steps: Steps, limit: float) -> Iterator[str]:
    """Yield which seeds of a run are farther from the reference than the limit and the reference's own seeds explain.

    Args:
        metric: one whose mean is within its limit.
        reference: the runs to trust.
        run: the runs to judge.
        steps: those that count, and that every run with the metric has.
        limit: the largest mean relative error.
    """
    ours, theirs = _values(metric, reference, steps), _values(metric, run, steps)
    if len(theirs) == 1:
        return
    own = _own(steps, ours)
    errors = {name: _error(steps, _mean(ours.values()), values) for name, values in theirs.items()}
    far = [f"{name} by {error:.2%}" for name, error in errors.items() if error > most(limit + own)]
    if far:
        listed = ", ".join(far[:_SHOWN]) + (f", … ({len(far)} in all)" if len(far) > _SHOWN else "")
        known = f"those of the reference differ by {own:.2%}" if len(ours) > 1 else "one reference cannot explain that"
        yield f"errors of seeds cancel in the mean: alone, they are beyond the limit: {listed}; {known}"


def _values(metric: str, runs: Sequence[Run], steps: Steps) -> dict[str, Values]:
    series = {run.name: run.metrics[metric] for run in runs if metric in run.metrics}
    return {name: one.values[np.searchsorted(one.steps, steps)] for name, one in series.items()}


def _own(steps: Steps, seeds: dict[str, Values]) -> float:
    """Return how far a seed is from the mean of the others, at most; 0 where there are no others."""
    if len(seeds) == 1:
        return 0.0
    others = {name: _mean(one for other, one in seeds.items() if other != name) for name in seeds}
    return max(_error(steps, others[name], values) for name, values in seeds.items())


def _mean(seeds: Iterable[Values]) -> Values:
    with np.errstate(invalid="ignore", over="ignore"):  # of NaN and infinity, which are told of by whoever measures
        mean: Values = np.stack(list(seeds)).mean(axis=0)
    return mean


def _error(steps: Steps, reference: Values, run: Values) -> float:
    """Return the mean relative error, or that of the sums where it leaves steps out at which the reference is zero."""
    curves = (Curve(steps=steps, mean=values, spread=None, runs=1) for values in (reference, run))
    found = measure(align(*curves), threshold=0.0)
    if found.left_out.zero and found.to_mean is None:
        return np.inf
    return max(found.mean or 0.0, (found.to_mean or 0.0) if found.left_out.zero else 0.0)
