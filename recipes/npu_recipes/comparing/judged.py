"""Judged: a metric of two groups of runs, and its limit → how far it lies apart, and whether within the limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from npu_recipes.comparing.curves import Curve, curve_of
from npu_recipes.comparing.holes import holes
from npu_recipes.comparing.limits import LISTED, Limit, limit_of
from npu_recipes.comparing.measures import Aligned, Measure, align, measure, most
from npu_recipes.comparing.notes import of_drift, of_few, of_seeds, of_steps, of_unmatched
from npu_recipes.comparing.seeds import cancelling
from npu_recipes.runs.series import Run

Status = Literal["within", "beyond", "not judged", "not comparable"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What counts.

    Args:
        limits: the first that fits a metric counts.
        steps: the first and the last step that count; None for no bound.
        least: how many steps a metric has to be compared at, to be judged.
    """

    limits: Sequence[Limit]
    steps: tuple[int | None, int | None]
    least: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """One metric that both sides logged.

    Args:
        metric: its name.
        status: ``not judged`` where it has no limit, ``not comparable`` where too few steps can be compared.
        limit: the largest mean error it may have; None where it has none.
        threshold: the error above which a step is called diverging.
        measure: how far the sides lie apart.
        reference: one side's curve.
        run: the other's.
        aligned: both, at the steps they share.
        notes: what has to be known to read the numbers.
        doubts: what a mean within the limit would hide.
    """

    metric: str
    status: Status
    limit: float | None
    threshold: float
    measure: Measure
    reference: Curve
    run: Curve
    aligned: Aligned
    notes: tuple[str, ...]
    doubts: tuple[str, ...] = ()


def judge(name: str, reference: Sequence[Run], run: Sequence[Run], asked: Asked) -> Judged:
    """Measure a metric that runs of both sides have, and judge it where it has a limit."""
    curves = curve_of(name, reference), curve_of(name, run)
    limit = limit_of(name, asked.limits)
    threshold = LISTED if limit is None or limit.value is None else limit.value
    aligned = align(*curves, first=asked.steps[0], last=asked.steps[1])
    measured = measure(aligned, threshold)
    status = _status(measured, limit, asked.least)
    doubts: list[str] = []
    if status != "not judged":
        doubts += [*_holes(name, reference, run, asked), *_holes(name, run, reference, asked)]
        doubts += [
            *_lacking(name, reference),
            *_lacking(name, run),
            *of_unmatched(name, run, curves[0], aligned, asked.steps),
        ]
    if status == "within":
        doubts += cancelling(name, reference, run, asked.steps, threshold)
    if doubts and status == "within":
        status = "not comparable"
    notes = [*doubts, *of_seeds(name, reference, curves[0], "reference"), *of_seeds(name, run, curves[1], "run")]
    notes += of_steps(*curves, aligned, measured, bounds=asked.steps)
    if status == "within":
        notes += of_drift(measured)
    if status == "not comparable":
        notes += of_few(measured, asked.least)
    return Judged(
        metric=name,
        status=status,
        limit=None if limit is None else limit.value,
        threshold=threshold,
        measure=measured,
        reference=curves[0],
        run=curves[1],
        aligned=aligned,
        notes=tuple(notes),
        doubts=tuple(doubts),
    )


def _holes(metric: str, runs: Sequence[Run], others: Sequence[Run], asked: Asked) -> Iterator[str]:
    for run in runs:
        if metric in run.metrics:
            yield from holes(metric, run, others, first=asked.steps[0], last=asked.steps[1])


def _lacking(metric: str, runs: Sequence[Run]) -> Iterator[str]:
    """Yield which of several seeds have no value of a metric that others have: one that was NaN throughout has none.

    Exports of one metric each share none, and are no seeds.
    """
    shared = {name for run in runs if metric in run.metrics for name in run.metrics}
    for run in runs:
        if metric not in run.metrics and not shared.isdisjoint(run.metrics):
            yield f"{run.name} has no value of it, and others beside it have: NaN, or not logged?"


def _status(measured: Measure, limit: Limit | None, least: int) -> Status:
    if limit is None or limit.value is None:
        return "not judged"
    if measured.broken or (measured.steps and (measured.mean is None or measured.mean > most(limit.value))):
        return "beyond"
    # The few steps that could be compared say nothing of the many at which the reference is zero and the run is not,
    # or is no number.
    left_out = measured.left_out.zero + measured.left_out.not_finite
    if hidden(measured, limit.value):
        return "not comparable"
    return "within" if measured.steps > left_out and measured.steps >= least else "not comparable"


def hidden(measured: Measure, limit: float) -> bool:
    """Return whether the steps that are left out, where the reference is zero, hold what the limit does not allow."""
    return bool(measured.left_out.zero) and (measured.to_mean is None or measured.to_mean > most(limit))
