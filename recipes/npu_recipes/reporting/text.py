"""Text: a comparison → lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from npu_recipes.comparing.curves import Curve
from npu_recipes.comparing.judged import Judged
from npu_recipes.comparing.verdict import Comparison
from npu_recipes.console import Console
from npu_recipes.reporting.words import described, percent, step, verdict
from npu_recipes.runs.series import Run

_HEADINGS = ("metric", "verdict", "limit", "mean error", "largest", "at step", "diverges at", "for good", "steps")
_OF_SEEDS = ("spread of the reference", "spread of the run")
_STYLES = {"beyond": "red", "within": "green", "not comparable": "yellow", "not judged": ""}
_SHOWN = 12


def report(comparison: Comparison, console: Console, *, everything: bool) -> None:
    """Print a comparison.

    Args:
        comparison: what to print.
        console: where to.
        everything: whether metrics without a limit are listed too.
    """
    _runs("reference", comparison.reference, console)
    _runs("run", comparison.run, console)
    console.line()
    shown = [one for one in comparison.metrics if everything or one.status != "not judged"]
    if shown:
        _table(shown, console, several=len(comparison.reference) > 1 or len(comparison.run) > 1)
    if hidden := len(comparison.metrics) - len(shown):
        console.line(f"{hidden} more metrics have no limit: --all lists them, --limit gives them one", style="dim")
    _one_sided("reference", comparison.only_reference, console)
    _one_sided("run", comparison.only_run, console)
    console.line()
    console.line(verdict(comparison), style=f"bold {_STYLES.get(comparison.verdict, 'yellow')}")


def _runs(side: str, runs: Sequence[Run], console: Console) -> None:
    for run in runs:
        console.line(f"{side}: {described(run)}")
        for note in run.notes:
            console.line(f"    {note}", style="yellow")


def _table(shown: Sequence[Judged], console: Console, *, several: bool) -> None:
    headings = (*_HEADINGS, *_OF_SEEDS) if several else _HEADINGS
    console.table(headings, (_row(one, several=several) for one in shown), [_STYLES[one.status] for one in shown])
    for one in shown:
        for note in one.notes:
            console.line(f"{one.metric}: {note}", style="dim")


def _row(one: Judged, *, several: bool) -> Iterable[str]:
    measure = one.measure
    yield from (one.metric, one.status, percent(one.limit), percent(measure.mean), percent(measure.largest))
    yield from (step(measure.largest_at), step(measure.first), step(measure.for_good), str(measure.steps))
    if several:
        yield from map(_spread, (one.reference, one.run))


def _spread(curve: Curve) -> str:
    return percent(curve.relative_spread)


def _one_sided(side: str, names: Sequence[str], console: Console) -> None:
    if names:
        more = f", … ({len(names)} in all)" if len(names) > _SHOWN else ""
        console.line(f"only the {side} has: {', '.join(names[:_SHOWN])}{more}", style="dim")
