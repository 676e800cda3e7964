"""Holes: where a run goes on without one of its metrics → what is said of it.

A table has an empty cell for a value that was not logged, and for NaN as pandas writes it: where a metric that came
at every tenth record is away for fifty and more, nobody can tell which.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from npu_recipes.runs.series import Run, Steps

# How many of its usual intervals a metric has to be away; for one that is in every record, that many records.
_LONG = 5
# Fewer values have no usual interval.
_LEAST = 3


def holes(metric: str, run: Run, *, first: int | None, last: int | None) -> Iterator[str]:
    """Yield the holes of a metric between two steps; None stands for no bound.

    Args:
        metric: one that the run has.
        run: what logged it, among other metrics.
        first: the first step that counts.
        last: the last one.
    """
    records = _between(run.steps if run.records is None else run.records, first, last)
    own = run.metrics[metric].steps
    own = own[np.isin(own, records)]
    if len(own) < _LEAST:
        return
    places = np.append(np.searchsorted(records, own), len(records))
    away = np.diff(places) - 1
    usual = np.median(np.diff(places[:-1]))
    for place in np.flatnonzero(away >= _LONG * usual):
        yield f"{run.name} goes on without it for {away[place]} steps after step {own[place]}: NaN, or not logged?"


def _between(steps: Steps, first: int | None, last: int | None) -> Steps:
    begin = 0 if first is None else int(np.searchsorted(steps, first))
    return steps[begin : None if last is None else int(np.searchsorted(steps, last, side="right"))]
