"""Holes: where a run goes on without one of its metrics → what is said of it.

A table has an empty cell for a value that was not logged, and for NaN as pandas writes it: where a metric that came
at every tenth record is away for fifty and more, nobody can tell which. Nor where it is away from the beginning, or has
hardly a value, and the other side is not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from npu_recipes.runs.series import Run, Steps

# How many of its usual intervals a metric has to be away; for one that is in every record, that many records.
_LONG = 5
# Fewer values have no usual interval: then that of the other side counts.
_LEAST = 3


def holes(metric: str, run: Run, others: Sequence[Run], *, first: int | None, last: int | None) -> Iterator[str]:
    """Yield the holes of a metric between two steps; None stands for no bound.

    Args:
        metric: one that the run has.
        run: what logged it, among other metrics.
        others: the runs of the other side, of which one has it at least.
        first: the first step that counts.
        last: the last one.
    """
    records = _between(run.steps if run.records is None else run.records, first, last)
    own = np.searchsorted(records, _at(records, run.metrics[metric].steps))
    theirs = np.searchsorted(
        records, _at(records, *(one.metrics[metric].steps for one in others if metric in one.metrics))
    )
    usual = next((np.median(np.diff(places)) for places in (own, theirs) if len(places) >= _LEAST), None)
    if usual is None:
        return
    ends = np.concatenate([[-1], own, [len(records)]])
    missed = np.searchsorted(theirs, ends[1:]) > np.searchsorted(theirs, ends[:-1], side="right")
    # Both may have begun late, or be validated seldom; a run that goes on without it is a hole by itself.
    known = (ends[:-1] >= 0) & (len(own) >= _LEAST)
    without = np.diff(ends) - 1
    for index in np.flatnonzero((without >= _LONG * usual) & (known | missed)).tolist():
        where = f"after step {records[ends[index]]}" if index else "from the first on"
        yield f"{run.name} goes on without it for {without[index]} steps {where}: NaN, or not logged?"


def _at(records: Steps, *steps: Steps) -> Steps:
    """Return which of the steps have a record."""
    return np.intersect1d(np.concatenate(steps), records)


def _between(steps: Steps, first: int | None, last: int | None) -> Steps:
    begin = 0 if first is None else int(np.searchsorted(steps, first))
    return steps[begin : None if last is None else int(np.searchsorted(steps, last, side="right"))]
