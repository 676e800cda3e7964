"""Verdict: two groups of runs and limits → every metric measured, and those with a limit judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from npu_recipes.comparing.judged import Asked, Judged, Status, judge
from npu_recipes.comparing.limits import Limit, limit_of, without_policy
from npu_recipes.comparing.names import named_alike, named_as_limits, named_the_same, names_of
from npu_recipes.comparing.problems import problems_of, unlike_steps, unread
from npu_recipes.errors import Problem
from npu_recipes.runs.series import Run

Verdict = Literal["within", "beyond", "unusable"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """All of it.

    Args:
        verdict: ``unusable`` where a limit cannot be told to be kept, and none is broken.
        reference: the runs to trust.
        run: the runs to judge.
        metrics: what both logged; first what was judged, the worst of it before all.
        only_reference: metrics of that side alone.
        only_run: metrics of the other side alone.
        problems: why it is unusable.
        one_sided: metrics with a limit that one side alone has, so that nobody can judge them.
    """

    verdict: Verdict
    reference: tuple[Run, ...]
    run: tuple[Run, ...]
    metrics: tuple[Judged, ...]
    only_reference: tuple[str, ...]
    only_run: tuple[str, ...]
    problems: tuple[Problem, ...]
    one_sided: tuple[str, ...] = ()


_RANK: dict[Status, int] = {"beyond": 0, "not comparable": 1, "within": 2, "not judged": 3}


def compare(
    reference: Sequence[Run],
    run: Sequence[Run],
    limits: Sequence[Limit],
    *,
    steps: tuple[int | None, int | None],
    least: int = 1,
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
    unlike = list(unlike_steps(reference, run))
    problems = (*unlike, *unread((*reference, *run), limits), *problems_of(judged, limits, both))
    alone = [name for name in (*ours, *theirs) if name not in ours or name not in theirs]
    beyond = not unlike and any(one.status == "beyond" for one in judged)
    return Comparison(
        verdict="beyond" if beyond else "unusable" if problems else "within",
        reference=tuple(reference),
        run=tuple(run),
        metrics=tuple(judged),
        only_reference=tuple(name for name in ours if name not in theirs),
        only_run=tuple(name for name in theirs if name not in ours),
        problems=problems,
        one_sided=tuple(name for name in alone if limit_of(name, limits)),
    )
