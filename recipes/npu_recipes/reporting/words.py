"""Words: numbers and runs, as every report says them."""

from __future__ import annotations

from npu_recipes.comparing.judged import Judged
from npu_recipes.comparing.verdict import Comparison
from npu_recipes.runs.series import Run

_LARGE = 10


def percent(share: float | None) -> str:
    """Return a share in percent; a dash where there is none."""
    if share is None:
        return "-"
    return f"{100 * share:.2f}%" if share < _LARGE else f"{100 * share:.3g}%"


def step(value: int | None) -> str:
    """Return a step; a dash where there is none."""
    return "-" if value is None else str(value)


def described(run: Run) -> str:
    """Return what a run is, in a line."""
    steps = run.steps
    count = f"{len(steps)} steps from {steps[0]} to {steps[-1]}"
    return f"{run.name} ({run.form}, {count}, {len(run.metrics)} metrics)"


def verdict(comparison: Comparison) -> str:
    """Return the verdict as a sentence."""
    judged = [one for one in comparison.metrics if one.status in {"within", "beyond"}]
    beyond = [one for one in judged if one.status == "beyond"]
    if comparison.verdict == "unusable":
        return "cannot be told"
    if not beyond:
        untold = sum(one.status == "not comparable" for one in comparison.metrics)
        more = f"; {untold} with a limit cannot be compared" if untold else ""
        alone = f"; on one side alone: {', '.join(comparison.one_sided)}" if comparison.one_sided else ""
        return f"within the limits: {len(judged)} of {len(judged)} metrics{more}{alone}"
    named = ", ".join(f"{one.metric} ({_how_far(one)}, limit {percent(one.limit)})" for one in beyond)
    return f"beyond the limit: {named}"


def _how_far(one: Judged) -> str:
    broken = f"NaN or infinite at {one.measure.broken} steps" if one.measure.broken else ""
    return broken if broken and one.measure.mean is None else percent(one.measure.mean) + (broken and f", {broken}")
