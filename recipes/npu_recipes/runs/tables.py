"""Tables: CSV with a column of steps, as TensorBoard, wandb and spreadsheets write it → a collector.

Four layouts: a column for each metric; wandb's, where a column is named after the run too and stands between its
minimum and maximum; TensorBoard's, with one metric, whose name is in the file's; and one line for each value. What can
be read as one number or as another is refused with its line: a guess would compare other numbers.
"""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collector import Collector
from npu_recipes.runs.records import Owners, number, owner_name, refuse_others, step_name, whole, without_step

# Some spreadsheets write numbers so. Skipping 0,5 would lose a value, and 1,234 may be one number or another.
_COMMA = re.compile(r"[-+]?\d+(?:\.\d+)*,\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_PLAIN = "export it with points for decimals, and nothing between thousands"
# How pandas, R, spreadsheets and Microsoft's C library write NaN; `float` knows the other spellings.
_NAN = re.compile(r"#?n/a|#?na|<na>|null|none|[-+]?1\.#(?:qnan|snan|ind)0*", re.IGNORECASE)
_INFINITE = re.compile(r"[-+]?1\.#inf0*", re.IGNORECASE)


class Rows:
    """The rows of a table, one after the other.

    Args:
        file: what is read, for messages.
        lines: those below the header.
        header: the names of its columns; one may name the run of each row.
        delimiter: what stands between two cells.
        run: whose rows are wanted; empty for all of them.
    """

    def __init__(self, file: Path, lines: Iterable[str], *, header: Sequence[str], delimiter: str, run: str) -> None:
        self._file, self._width = file, len(header)
        self._rows = csv.reader(lines, delimiter=delimiter)
        self.owner = header.index(name) if (name := owner_name(header)) else None
        # How many rows lacked cells so far, which had no step, and the runs that rows were of.
        self.short = 0
        self.without_step: list[str] = []
        self.owners = Owners(run)

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the run's rows that hold something, each as wide as the header; raises `RecipeError` at a wider one."""
        try:
            for row in self._rows:
                if "".join(row[self._width :]).strip():
                    what = f"has {len(row)} cells, and the header {self._width}"
                    raise self._refused(what, f"{_PLAIN}, or put texts with commas into quotes")
                if not "".join(row).strip():
                    continue
                cells = [*row[: self._width], *[""] * (self._width - len(row))]
                if self.owner is None or self.owners.wants(cells[self.owner].strip()):
                    self.short += len(row) < self._width
                    yield cells
        except csv.Error as error:
            raise self._refused(f"no CSV: {error}", "export it again") from error

    @property
    def line(self) -> int:
        """The line of the file that was read last."""
        return self._rows.line_num + 1

    def step(self, cell: str) -> int | None:
        """Return the step a cell of this row states; None where it is empty. Raises `RecipeError` where it is none."""
        text = cell.strip()
        found = whole(text)
        if found is None and text:
            self._refuse_comma(text)
            raise self._refused(f"`{text}` is no step", "write whole numbers into the column of steps")
        if found is None:
            self.without_step.append(f"line {self.line}")
        return found

    def number(self, cell: str) -> float | None:
        """Return the number of a cell of this row, NaN among them; None where it is something else, or empty."""
        text = cell.strip()
        found = number(text)
        if found is not None:
            return found
        self._refuse_comma(text)
        if _INFINITE.fullmatch(text):
            return -math.inf if text.startswith("-") else math.inf
        return math.nan if _NAN.fullmatch(text) else None

    def _refuse_comma(self, text: str) -> None:
        if _COMMA.fullmatch(text):
            raise self._refused(f"`{text}` is a number with a comma", _PLAIN)

    def _refused(self, what: str, fix: str) -> RecipeError:
        return RecipeError(Problem(where=f"{self._file}, line {self.line}", what=what, fix=fix))


# A step, a metric, and its value there if there is any.
Stated = tuple[int, str, float | None]


def take_long(stated: Sequence[Stated], collector: Collector) -> None:
    """Take the lines of a table; where they are in no order of time, each metric by itself."""
    if _in_time(stated):
        _take(stated, collector)
        return
    metrics: dict[str, list[Stated]] = {}
    for line in stated:
        metrics.setdefault(line[1], []).append(line)
    collectors = []
    for lines in metrics.values():
        own = Collector()
        _take(lines, own)
        own.settle(in_time=False)
        collectors.append(own)
    collector.beside(collectors)


def _in_time(stated: Sequence[Stated]) -> bool:
    """Return whether lines stand as they were logged: where they go back, the metric that is there does, too."""
    reached: dict[str, int] = {}
    before = stated[0][0] if stated else 0
    for step, metric, _ in stated:
        if step < before and reached.get(metric, step) <= step:
            return False
        before = reached[metric] = step
    return True


def _take(lines: Sequence[Stated], collector: Collector) -> None:
    begun: int | None = None
    for step, metric, value in lines:
        if step != begun:
            collector.record(step)
        begun = step
        if value is not None:
            collector.add(metric, value)


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
        if len(header) <= 1:
            return None
        if not step_name(header):
            _refuse_times(file, header)
            return None
        rows = Rows(file, lines, header=header, delimiter=delimiter, run=run)
        if columns := _long_columns(header):
            _read_long(columns, rows, collector)
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


def _long_columns(header: Sequence[str]) -> tuple[int, int, int] | None:
    """Return the columns of step, metric and value of a table with one value a line; None for another table."""
    lower = [cell.lower() for cell in header]
    tag = next(filter(lower.__contains__, _TAGS), "")
    if not tag or "value" not in lower:
        return None
    return header.index(step_name(header)), lower.index(tag), lower.index("value")


def _read_long(columns: tuple[int, int, int], rows: Rows, collector: Collector) -> None:
    step, tag, value = columns
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
    """Return a table with a column for each metric."""
    step = header.index(step_name(header))
    if [cell.lower() for cell in header] == _OF_TENSORBOARD:
        # The metric's name is in the file's: `run-NAME-tag-actor_loss.csv`.
        _, tag, metric = file.stem.rpartition("-tag-")
        return _Table(step=step, metrics={2: metric if tag else header[2]})
    metrics: dict[int, str] = {}
    for column, name in enumerate(header):
        if column not in {step, owner} and name and not name.startswith("_") and not name.endswith(_EXTREMES):
            metrics[column] = name
    runs: list[str] = []
    if metrics and all(_RUN in name for name in metrics.values()):
        metrics, runs = _of_run(file, metrics, run)
    if twice := [name for name, count in Counter(metrics.values()).items() if count > 1]:
        what, fix = "stands in several columns", "leave one of them, or name them apart"
        raise RecipeError(Problem(where=f"{file}: {name}", what=what, fix=fix) for name in twice)
    return _Table(step=step, metrics=metrics, runs=runs)


def _of_run(file: Path, columns: dict[int, str], run: str) -> tuple[dict[int, str], list[str]]:
    """Return the columns of one run of an export of wandb's, without its name, and that name."""
    names = set(columns.values())
    owners = list(dict.fromkeys(name.rpartition(_RUN)[0] for name in columns.values()))
    runs = [one for one in owners if not _is_part(one, owners, names)]
    if run not in owners:
        refuse_others(file, FORM, run, runs)
    own = run or runs[0]
    prefix = own + _RUN
    others = tuple(one + _RUN for one in runs if one.startswith(prefix))
    metrics: dict[int, str] = {}
    for column, name in columns.items():
        metric = name.removeprefix(prefix)
        if name.startswith(prefix) and not name.startswith(others) and not metric.startswith("_"):
            metrics[column] = metric
    return metrics, [own]


def _is_part(owner: str, owners: Sequence[str], names: set[str]) -> bool:
    """Return whether what looks like a run is the name of another run with the beginning of a metric.

    The separator may stand in both names. Two that have a metric in common are two runs.
    """
    own = {name.removeprefix(owner + _RUN) for name in names if name.startswith(owner + _RUN)}
    for run in owners:
        if owner.startswith(run + _RUN) and names.isdisjoint(run + _RUN + metric for metric in own):
            return True
    return False
