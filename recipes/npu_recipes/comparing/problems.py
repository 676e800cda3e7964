"""Problems: metrics that were judged, and limits → why nobody can say that the limits are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from npu_recipes.comparing.judged import Judged, hidden
from npu_recipes.comparing.limits import Limit, limit_of, unused
from npu_recipes.comparing.names import names_of
from npu_recipes.errors import Problem
from npu_recipes.runs.series import Run, Series

# The Trainer prints them with two decimals, or four digits.
_EPOCHS = ("epoch", "train/epoch")


def problems_of(judged: Sequence[Judged], limits: Sequence[Limit], both: Sequence[str]) -> Iterator[Problem]:
    """Yield why nobody can say that the limits are kept."""
    for limit in unused(limits, both):
        fix = f"name one of those that both have: {_listed(both)}"
        yield Problem(where=limit.pattern, what="has a limit, and is no metric that both sides logged", fix=fix)
    with_limit = [one for one in judged if one.limit is not None]
    asked = [limit for limit in limits if limit.given]
    for one in with_limit:
        # Of what differs, others within their limits must not make a comparison that is.
        if one.status == "not comparable" and (
            one.doubts or limit_of(one.metric, asked) or hidden(one.measure, one.threshold)
        ):
            yield Problem(where=one.metric, what=f"has a limit, and cannot be judged by it; {'; '.join(one.notes)}")
    if not any(one.status in {"within", "beyond"} for one in with_limit):
        what = "no metric with a limit can be compared"
        named = f"--limit 'NAME=4%', for one that both have: {_listed(both)}"
        fix = f"look at the notes of {_listed([one.metric for one in with_limit])}" if with_limit else named
        yield Problem(where="the comparison", what=what, fix=fix)


def unlike_steps(reference: Sequence[Run], run: Sequence[Run]) -> Iterator[Problem]:
    """Yield where steps were counted, and epochs say that they are not the other side's steps."""
    for one, other in product(reference, run):
        step = _first_unlike(_epochs(one), _epochs(other)) if one.counted or other.counted else None
        if step is not None:
            what = f"its step {step} is not that of {one.name}: steps were counted, and their epochs differ"
            fix = "name logs that state their steps, such as trainer_state.json, or that were written equally often"
            yield Problem(where=other.name, what=what, fix=fix)


def _epochs(run: Run) -> Series | None:
    return next((run.metrics[name] for name in _EPOCHS if name in run.metrics), None)


def _first_unlike(one: Series | None, other: Series | None) -> int | None:
    """Return the first common step at which epochs differ by more than their rounding; None where none does."""
    if one is None or other is None:
        return None
    steps, here, there = np.intersect1d(one.steps, other.steps, assume_unique=True, return_indices=True)
    unlike = steps[~np.isclose(one.values[here], other.values[there], rtol=1e-3, atol=0.011)]
    return int(unlike[0]) if len(unlike) else None


def unread(runs: Sequence[Run], limits: Sequence[Limit]) -> Iterator[Problem]:
    """Yield which metrics with a limit cannot be told; not the texts that a pattern for many fits, too."""
    meant = {*names_of(runs), *(limit.pattern for limit in limits)}
    for run in runs:
        for metric, what in run.unread.items():
            if metric in meant and limit_of(metric, limits):
                fix = f"log one run's numbers, or nan; or give it no limit: --limit '{metric}=none'"
                yield Problem(where=f"{run.name}: {metric}", what=f"has a limit, and {what}", fix=fix)


def _listed(names: Sequence[str], most: int = 10) -> str:
    return ", ".join(names[:most]) + (f", … ({len(names)} in all)" if len(names) > most else "") or "none"
