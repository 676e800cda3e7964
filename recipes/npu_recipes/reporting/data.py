"""Data: a comparison → what `docs/comparison.schema.json` describes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from npu_recipes.comparing.judged import Judged
from npu_recipes.comparing.verdict import Comparison
from npu_recipes.runs.series import Run

SCHEMA = 1


def as_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON holds it; every number is finite, or null."""
    return {
        "schema": SCHEMA,
        "verdict": comparison.verdict,
        "reference": _runs(comparison.reference),
        "run": _runs(comparison.run),
        "metrics": [_judged(one) for one in comparison.metrics],
        "only_reference": list(comparison.only_reference),
        "only_run": list(comparison.only_run),
        "one_sided_with_limit": list(comparison.one_sided),
        "problems": [asdict(one) for one in comparison.problems],
    }


def _runs(runs: Sequence[Run]) -> list[dict[str, Any]]:
    return [
        {
            "name": run.name,
            "form": run.form,
            "steps": {"count": len(run.steps), "first": int(run.steps[0]), "last": int(run.steps[-1])},
            "notes": list(run.notes),
        }
        for run in runs
    ]


def _judged(one: Judged) -> dict[str, Any]:
    measure = one.measure
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
        "steps_left_out": {
            "reference_zero": measure.left_out.zero,
            "reference_not_finite": measure.left_out.not_finite,
        },
        "spread": {"reference": one.reference.relative_spread, "run": one.run.relative_spread},
        "notes": list(one.notes),
    }
