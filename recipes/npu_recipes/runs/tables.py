"""Tables: CSV with a column of steps, as TensorBoard, wandb and spreadsheets write it → a collector.

Four layouts: a column for each metric; wandb's, where a column is named after the run too and stands between its
minimum and maximum; TensorBoard's, with one metric, whose name is in the file's; and one line for each value.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.numbers import number, whole
from npu_recipes.runs.records import step_name

FORM = "table (CSV)"
_DELIMITERS = ",\t;"
_OF_TENSORBOARD = ["wall time", "step", "value"]
_TAGS = ("tag", "metric", "name", "key")
_EXTREMES = ("__MIN", "__MAX")
_RUN = " - "


@dataclass(frozen=True, kw_only=True)
class _Table:
    """A table that was recognised: where its steps are, and its metrics by column."""

    step: int
    metrics: dict[int, str]


def read_table(file: Path, collector: Collector, run: str) -> bool:
    """Read a table; returns whether it is one.

    Args:
        file: the table.
        collector: what takes its values.
        run: which run of those the table holds, or empty.

    Raises:
        RecipeError: it holds several runs and none of them was named, or not that one.
    """
    with file.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
        first = lines.readline()
        delimiter = max(_DELIMITERS, key=first.count)
        header = _header(first, delimiter)
        if len(header) <= 1 or not step_name(header):
            return False
        rows = csv.reader(lines, delimiter=delimiter)
        try:
            if (tag := _tag(header)) >= 0:
                _read_long(header, tag, rows, collector)
            else:
                _read_wide(_wide(file, header, run), rows, collector)
        except csv.Error as error:
            raise RecipeError(Problem(where=f"{file}, line {rows.line_num + 1}", what=f"no CSV: {error}")) from error
    return True


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


def _read_long(header: Sequence[str], tag: int, rows: Iterator[list[str]], collector: Collector) -> None:
    step, value = header.index(step_name(header)), [cell.lower() for cell in header].index("value")
    lines = [row for row in rows if len(row) == len(header)]
    # Each metric may begin again where the last one ended: nothing was resumed there.
    stated = [(whole(row[step]), row[tag], number(row[value])) for row in lines]
    known = [(at, name, value) for at, name, value in stated if at is not None and value is not None]
    for at, name, found in sorted(known, key=lambda one: one[0]):
        collector.record(at)
        collector.add(name, found)


def _read_wide(table: _Table, rows: Iterator[list[str]], collector: Collector) -> None:
    for row in rows:
        step = whole(row[table.step]) if table.step < len(row) else None
        if step is None:
            continue
        collector.record(step)
        for column, metric in table.metrics.items():
            # An empty cell is a value that was not logged.
            value = number(row[column].strip()) if column < len(row) else None
            if value is not None:
                collector.add(metric, value)


def _wide(file: Path, header: list[str], run: str) -> _Table:
    step = header.index(step_name(header))
    if [cell.lower() for cell in header] == _OF_TENSORBOARD:
        return _Table(step=step, metrics={header.index(header[2]): _named_after(file)})
    metrics = {
        column: name
        for column, name in enumerate(header)
        if column != step and name and not name.startswith("_") and not name.endswith(_EXTREMES)
    }
    if metrics and all(_RUN in name for name in metrics.values()):
        metrics = _of_run(file, metrics, run)
    return _Table(step=step, metrics=metrics)


def _of_run(file: Path, columns: dict[int, str], run: str) -> dict[int, str]:
    """Return the columns of one run of an export of wandb's, without its name."""
    split = {column: name.rpartition(_RUN)[::2] for column, name in columns.items()}
    runs = list(dict.fromkeys(owner for owner, _ in split.values()))
    if run not in runs and (run or len(runs) > 1):
        what = f"holds {'no run of that name; it has' if run else 'several runs:'} {', '.join(runs)}"
        raise RecipeError(Problem(where=f"{file}{run and f'#{run}'}", what=what, fix=f"name one: '{file}#{runs[0]}'"))
    return {column: metric for column, (owner, metric) in split.items() if owner == (run or runs[0])}


def _named_after(file: Path) -> str:
    """Return the metric that TensorBoard put into the name of a file, ``run-NAME-tag-actor_loss.csv``."""
    return re.sub(r".*-tag-", "", file.stem)
