"""A comparison as lines for a terminal, and as the data that `docs/comparison.schema.json` describes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from npu_recipes.comparison.judgement import Judged
from npu_recipes.comparison.verdict import Comparison
from npu_recipes.console import Console
from npu_recipes.errors import listed
from npu_recipes.runs.series import Run

SCHEMA = 1
_HEADINGS = ("metric", "verdict", "limit", "mean error", "largest", "at step", "diverges at", "for good", "steps")
_OF_SEEDS = ("spread of the reference", "spread of the run")
_STYLES = {"beyond": "red", "within": "green", "not comparable": "yellow", "not judged": ""}
_SHOWN = 12
# From here on a share has fewer decimals.
_LARGE = 10


def percent(share: float | None) -> str:
    """Return a share in percent; a dash for None."""
    if share is None:
        return "-"
    return f"{100 * share:.2f}%" if share < _LARGE else f"{100 * share:.3g}%"


def cells(one: Judged) -> dict[str, str]:
    """Return the numbers of a metric by the headings of the tables that show them; a dash for what does not exist."""
    measure = one.measure
    steps = {"at step": measure.largest_at, "diverges at": measure.first, "for good": measure.for_good}
    return {
        "limit": percent(one.limit),
        "mean error": percent(measure.mean),
        "largest": percent(measure.largest),
        **{heading: "-" if step is None else str(step) for heading, step in steps.items()},
        "error / mean": percent(measure.to_mean),
        "steps": str(measure.steps),
        "spread of the reference": percent(one.reference.relative_spread),
        "spread of the run": percent(one.run.relative_spread),
    }


def described(run: Run) -> str:
    """Return what a run is, in a line."""
    steps = run.steps
    count = f"{len(steps)} steps from {steps[0]} to {steps[-1]}"
    return f"{run.name} ({run.form}, {count}, {len(run.metrics)} metrics)"


def verdict(comparison: Comparison) -> str:
    """Return the verdict as a sentence."""
    if comparison.verdict == "unusable":
        return "cannot be told"
    beyond = [one for one in comparison.metrics if one.status == "beyond"]
    if not beyond:
        statuses = Counter(one.status for one in comparison.metrics)
        kept, untold = statuses["within"], statuses["not comparable"]
        more = f"; {untold} with a limit cannot be compared" if untold else ""
        alone = f"; on one side alone: {', '.join(comparison.one_sided)}" if comparison.one_sided else ""
        return f"within the limits: {kept} of {kept} metrics{more}{alone}"
    named = []
    for one in beyond:
        broken = f"NaN or infinite at {one.measure.broken} steps" if one.measure.broken else ""
        mean = "" if broken and one.measure.mean is None else percent(one.measure.mean)
        named.append(f"{one.metric} ({', '.join(filter(None, (mean, broken)))}, limit {percent(one.limit)})")
    return f"beyond the limit: {', '.join(named)}"


def several_seeds(comparison: Comparison) -> bool:
    """Return whether a side has several runs, so that their spread is shown."""
    return len(comparison.reference) > 1 or len(comparison.run) > 1


def report(comparison: Comparison, console: Console, *, everything: bool) -> None:
    """Print a comparison; `everything` is whether metrics without a limit are listed too."""
    for side, runs in (("reference", comparison.reference), ("run", comparison.run)):
        for run in runs:
            console.line(f"{side}: {described(run)}")
            for note in run.notes:
                console.line(f"    {note}", style="yellow")
    console.line()
    shown = [one for one in comparison.metrics if everything or one.status != "not judged"]
    if shown:
        _table(shown, console, several=several_seeds(comparison))
    if hidden := len(comparison.metrics) - len(shown):
        console.line(f"{hidden} more metrics have no limit: --all lists them, --limit gives them one", style="dim")
    for side, names in (("reference", comparison.only_reference), ("run", comparison.only_run)):
        if names:
            console.line(f"only the {side} has: {listed(names, _SHOWN)}", style="dim")
    console.line()
    console.line(verdict(comparison), style=f"bold {_STYLES.get(comparison.verdict, 'yellow')}")


def _table(shown: Sequence[Judged], console: Console, *, several: bool) -> None:
    headings = (*_HEADINGS, *_OF_SEEDS) if several else _HEADINGS
    rows = []
    for one in shown:
        row = {"metric": one.metric, "verdict": one.status, **cells(one)}
        rows.append([row[heading] for heading in headings])
    console.table(headings, rows, [_STYLES[one.status] for one in shown])
    for one in shown:
        for note in one.notes:
            console.line(f"{one.metric}: {note}", style="dim")


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON holds it; every number is finite, or null."""
    return {
        "schema": SCHEMA,
        "verdict": comparison.verdict,
        "reference": list(map(_run_data, comparison.reference)),
        "run": list(map(_run_data, comparison.run)),
        "metrics": list(map(_metric_data, comparison.metrics)),
        "only_reference": list(comparison.only_reference),
        "only_run": list(comparison.only_run),
        "one_sided_with_limit": list(comparison.one_sided),
        "problems": list(map(asdict, comparison.problems)),
    }


def _run_data(run: Run) -> dict[str, Any]:
    steps = {"count": len(run.steps), "first": int(run.steps[0]), "last": int(run.steps[-1])}
    return {"name": run.name, "form": run.form, "steps": steps, "notes": list(run.notes)}


def _metric_data(one: Judged) -> dict[str, Any]:
    measure, left_out = one.measure, one.measure.left_out
    return {
        "metric": one.metric,
        "status": one.status,
        "limit": one.limit,
        "threshold": one.threshold,
        "steps": measure.steps,
        "mean_relative_error": measure.mean,
        "largest_relative_error": measure.largest,
        "largest_at_step": measure.largest_at,
        "error_to_mean": measure.to_mean,
        "first_diverging_step": measure.first,
        "diverging_for_good_from": measure.for_good,
        "steps_run_not_finite": measure.broken,
        "steps_left_out": {"reference_zero": left_out.zero, "reference_not_finite": left_out.not_finite},
        "spread": {"reference": one.reference.relative_spread, "run": one.run.relative_spread},
        "notes": list(one.notes),
    }
