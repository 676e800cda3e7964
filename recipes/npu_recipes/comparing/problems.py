"""Problems: metrics that were judged, and limits → why nobody can say that the limits are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npu_recipes.comparing.judged import Judged, hidden
from npu_recipes.comparing.limits import Limit, limit_of, unused
from npu_recipes.comparing.names import names_of
from npu_recipes.errors import Problem
from npu_recipes.runs.series import Run


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
