"""Verdict: two groups of runs and limits → every metric measured, and those with a limit judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from npu_recipes.comparison.curves import Bounds
from npu_recipes.comparison.judgement import Asked, Judged, Status, hidden, judge
from npu_recipes.comparison.limits import Limit, limit_of, unused, without_policy
from npu_recipes.comparison.names import named_alike, named_as_limits, named_the_same, names_of
from npu_recipes.errors import Problem, listed
from npu_recipes.runs.series import Run, Series

Verdict = Literal["within", "beyond", "unusable"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """All metrics of two groups of runs, and what they say together."""

    verdict: Verdict  # ``unusable`` where a limit cannot be told to be kept, and none is broken
    reference: tuple[Run, ...]  # the runs to trust
    run: tuple[Run, ...]  # the runs to judge
    metrics: tuple[Judged, ...]  # what both logged; first what was judged, the worst of it before all
    only_reference: tuple[str, ...]  # metrics of that side alone
    only_run: tuple[str, ...]  # metrics of the other side alone
    problems: tuple[Problem, ...]  # why it is unusable
    one_sided: tuple[str, ...] = ()  # metrics with a limit that one side alone has, so that nobody can judge them


_RANK: dict[Status, int] = {"beyond": 0, "not comparable": 1, "within": 2, "not judged": 3}


def compare(
    reference: Sequence[Run], run: Sequence[Run], limits: Sequence[Limit], *, steps: Bounds, least: int = 1
) -> Comparison:
    """Compare two groups of runs.

    Args:
        reference: the runs to trust.
        run: the runs to judge.
        limits: the first that fits a metric counts.
        steps: the first and the last step that count; None for no bound.
        least: how many steps a metric has to be compared at, to be judged.
    """
    limits = without_policy(limits, names_of((*reference, *run)))
    reference, run = named_alike(reference, run), named_alike(run, reference)
    run = named_the_same(run, reference)
    reference, run = named_as_limits(reference, run, limits), named_as_limits(run, reference, limits)
    ours, theirs = names_of(reference), names_of(run)
    both = [name for name in ours if name in theirs]
    asked = Asked(limits=limits, steps=steps, least=least)
    judged = sorted((judge(name, reference, run, asked) for name in both), key=lambda one: _RANK[one.status])
    unlike = list(_unlike_steps(reference, run))
    problems = (*unlike, *_unread((*reference, *run), limits), *_problems(judged, limits, both))
    beyond = not unlike and any(one.status == "beyond" for one in judged)
    return Comparison(
        verdict="beyond" if beyond else "unusable" if problems else "within",
        reference=tuple(reference),
        run=tuple(run),
        metrics=tuple(judged),
        only_reference=tuple(name for name in ours if name not in theirs),
        only_run=tuple(name for name in theirs if name not in ours),
        problems=problems,
        one_sided=tuple(name for name in ours | theirs if name not in both and limit_of(name, limits)),
    )


_SHOWN = 10
# The Trainer prints them with two decimals, or four digits.
_EPOCHS = ("epoch", "train/epoch")


def _problems(judged: Sequence[Judged], limits: Sequence[Limit], both: Sequence[str]) -> Iterator[Problem]:
    """Yield why nobody can say that the limits are kept."""
    for limit in unused(limits, both):
        fix = f"name one of those that both have: {_listed(both)}"
        yield Problem(where=limit.pattern, what="has a limit, and is no metric that both sides logged", fix=fix)
    with_limit = [one for one in judged if one.limit is not None]
    asked = [limit for limit in limits if limit.given]
    for one in with_limit:
        # Other metrics within their limits must not hide one that differs.
        if one.status == "not comparable" and (
            one.doubts or limit_of(one.metric, asked) or hidden(one.measure, one.threshold)
        ):
            what = f"has a limit, and cannot be judged by it; {'; '.join(one.notes)}"
            fix = f"log more of it, or give it no limit: --limit '{one.metric}=none'"
            yield Problem(where=one.metric, what=what, fix=fix)
    if not any(one.status in {"within", "beyond"} for one in with_limit):
        what = "no metric with a limit can be compared"
        named = f"--limit 'NAME=4%', for one that both have: {_listed(both)}"
        fix = f"look at the notes of {_listed([one.metric for one in with_limit])}" if with_limit else named
        yield Problem(where="the comparison", what=what, fix=fix)


def _unlike_steps(reference: Sequence[Run], run: Sequence[Run]) -> Iterator[Problem]:
    """Yield the runs whose steps were counted and, by their epochs, are not the other side's steps."""
    for one, other in product(reference, run):
        step = _first_unlike(_epochs(one), _epochs(other)) if one.counted or other.counted else None
        if step is not None:
            what = f"its step {step} is not that of {one.name}: steps were counted, and their epochs differ"
            fix = "name logs that state their steps, such as trainer_state.json, or that were written equally often"
            yield Problem(where=other.name, what=what, fix=fix)


def _epochs(run: Run) -> Series | None:
    return next((run.metrics[name] for name in _EPOCHS if name in run.metrics), None)


def _first_unlike(one: Series | None, other: Series | None) -> int | None:
    """Return the first common step at which epochs differ by more than their rounding; None if none does."""
    if one is None or other is None:
        return None
    steps, here, there = np.intersect1d(one.steps, other.steps, assume_unique=True, return_indices=True)
    unlike = steps[~np.isclose(one.values[here], other.values[there], rtol=1e-3, atol=0.011)]
    return int(unlike[0]) if len(unlike) else None


def _unread(runs: Sequence[Run], limits: Sequence[Limit]) -> Iterator[Problem]:
    """Yield which metrics with a limit could not be read; not the texts that a pattern for many fits, too."""
    meant = {*names_of(runs), *(limit.pattern for limit in limits)}
    for run in runs:
        for metric, what in run.unread.items():
            if metric in meant and limit_of(metric, limits):
                fix = f"log one run's numbers, or nan; or give it no limit: --limit '{metric}=none'"
                yield Problem(where=f"{run.name}: {metric}", what=f"has a limit, and {what}", fix=fix)


def _listed(names: Sequence[str]) -> str:
    return listed(names, _SHOWN) or "none"
