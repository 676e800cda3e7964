"""Tables: CSV with a column of steps, as TensorBoard, wandb and spreadsheets write it → a collector.

Four layouts: a column for each metric; wandb's, where a column is named after the run too and stands between its
minimum and maximum; TensorBoard's, with one metric, whose name is in the file's; and one line for each value.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.longtables import Stated, take_long
from npu_recipes.runs.owners import refuse_others
from npu_recipes.runs.records import step_name, without_step
from npu_recipes.runs.rows import Rows

FORM = "table (CSV)"
_DELIMITERS = ",\t;"
_OF_TENSORBOARD = ["wall time", "step", "value"]
_TAGS = ("tag", "metric", "name", "key")
_EXTREMES = ("__MIN", "__MAX")
_RUN = " - "


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A table that was recognised: where its steps are, its metrics by column, and which runs its columns name."""

    step: int
    metrics: dict[int, str]
    runs: list[str] = field(default_factory=list)


def read_table(file: Path, collector: Collector, run: str) -> list[str] | None:
    """Read a table; returns notes on its rows, or None where it is none.

    Args:
        file: the table.
        collector: what takes its values.
        run: which run of those the table holds, or empty.

    Raises:
        RecipeError: it holds several runs and none of them was named, or not that one; it is one of wandb's without
            steps; a metric stands in two of its columns; a row has more cells than the header; a step is none; or its
            numbers are written with commas.
    """
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        first = lines.readline()
        delimiter = max(_DELIMITERS, key=first.count)
        header = _header(first, delimiter)
        if len(header) > 1 and not step_name(header):
            _refuse_times(file, header)
        if len(header) <= 1 or not step_name(header):
            return None
        rows = Rows(file, lines, header=header, delimiter=delimiter, run=run)
        if (tag := _tag(header)) >= 0:
            _read_long(header, tag, rows, collector)
            rows.owners.settle(file, FORM)
        else:
            table = _wide(file, header, rows.owner, run)
            _read_wide(table, rows, collector)
            refuse_others(file, FORM, run, list(rows.owners.known) or table.runs)
    short = [f"{rows.short} rows have fewer cells than the header: these were not logged"] if rows.short else []
    return [*short, *without_step(rows.without_step)]


def _refuse_times(file: Path, header: Sequence[str]) -> None:
    """Refuse a chart of wandb's whose horizontal axis is a time: there is nothing to align it by."""
    if any(name.endswith(_EXTREMES) for name in header):
        fix = "choose Step as the x axis of the chart, and export it again"
        raise RecipeError(Problem(where=str(file), what=f"has no column of steps, but `{header[0]}`", fix=fix))


def _header(line: str, delimiter: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # the first line of something else
        return []


def _tag(header: Sequence[str]) -> int:
    """Return which column names the metric where each line holds one value, else -1."""
    lower = [cell.lower() for cell in header]
    named = [lower.index(name) for name in _TAGS if name in lower]
    return named[0] if named and "value" in lower else -1


def _read_long(header: Sequence[str], tag: int, rows: Rows, collector: Collector) -> None:
    step, value = header.index(step_name(header)), [cell.lower() for cell in header].index("value")
    stated: list[Stated] = []
    for row in rows:
        at, found = rows.step(row[step]), rows.number(row[value])
        if found is None and row[value].strip():
            collector.pass_over(row[tag], row[value], f"in line {rows.line}")
        elif at is not None:
            stated.append((at, row[tag], found))
    take_long(stated, collector)


def _read_wide(table: _Table, rows: Rows, collector: Collector) -> None:
    for row in rows:
        step = rows.step(row[table.step])
        if step is None:
            continue
        collector.record(step)
        for column, metric in table.metrics.items():
            # An empty cell is a value that was not logged.
            value = rows.number(row[column])
            if value is not None:
                collector.add(metric, value)
            elif row[column].strip():
                collector.pass_over(metric, row[column], f"in line {rows.line}")


def _wide(file: Path, header: list[str], owner: int | None, run: str) -> _Table:
    step = header.index(step_name(header))
    if [cell.lower() for cell in header] == _OF_TENSORBOARD:
        return _Table(step=step, metrics={header.index(header[2]): _named_after(file, header[2])})
    metrics = {
        column: name
        for column, name in enumerate(header)
        if column not in {step, owner} and name and not name.startswith("_") and not name.endswith(_EXTREMES)
    }
    runs: list[str] = []
    if metrics and all(_RUN in name for name in metrics.values()):
        metrics, runs = _of_run(file, metrics, run)
    _refuse_twice(file, list(metrics.values()))
    return _Table(step=step, metrics=metrics, runs=runs)


def _refuse_twice(file: Path, metrics: Sequence[str]) -> None:
    problems = [
        Problem(where=f"{file}: {name}", what="stands in several columns", fix="leave one of them, or name them apart")
        for name in dict.fromkeys(metrics)
        if metrics.count(name) > 1
    ]
    if problems:
        raise RecipeError(problems)


def _of_run(file: Path, columns: dict[int, str], run: str) -> tuple[dict[int, str], list[str]]:
    """Return the columns of one run of an export of wandb's, without its name, and that name."""
    owners = list(dict.fromkeys(name.rpartition(_RUN)[0] for name in columns.values()))
    runs = [one for one in owners if not any(_is_part(one, other, set(columns.values())) for other in owners)]
    if run not in owners:
        refuse_others(file, FORM, run, runs)
    own = run or runs[0]
    others = tuple(one + _RUN for one in runs if one.startswith(own + _RUN))
    named = {
        column: name.removeprefix(own + _RUN)
        for column, name in columns.items()
        if name.startswith(own + _RUN) and not name.startswith(others)
    }
    return {column: metric for column, metric in named.items() if not metric.startswith("_")}, [own]


def _is_part(owner: str, run: str, names: set[str]) -> bool:
    """Return whether what looks like a run is the name of another one, with the beginning of a metric."""
    if not owner.startswith(run + _RUN):
        return False
    # What stands between them may stand in the names of both. Who has a metric that the other has, too, is a run.
    own = {name.removeprefix(owner + _RUN) for name in names if name.startswith(owner + _RUN)}
    return not any(run + _RUN + metric in names for metric in own)


def _named_after(file: Path, column: str) -> str:
    """Return the metric that TensorBoard put into the file's name, ``run-NAME-tag-actor_loss.csv``, else its column."""
    _, tag, metric = file.stem.rpartition("-tag-")
    return metric if tag else column
