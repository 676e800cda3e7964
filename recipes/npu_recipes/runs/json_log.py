"""JSON: lines of verl's file logger, and what wandb and trainers write, in lines or whole → a collector."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collector import Collector
from npu_recipes.runs.records import (
    Owners,
    is_summary,
    owner_name,
    refuse_others,
    step_name,
    step_of,
    take,
    without_step,
)

Record = dict[str, Any]
# What lies deeper is nobody's log.
_DEPTH = 4


def record_lists(whole: object, path: tuple[str, ...] = ()) -> dict[str, list[Record]]:
    """Return the lists of records that have steps, by where they lie: ``log_history``, ``state/history``."""
    records = _rows(whole)
    if any(map(step_name, records)):
        return {"/".join(path): records}
    found: dict[str, list[Record]] = {}
    if isinstance(whole, dict) and len(path) < _DEPTH:
        for name, part in whole.items():
            found |= record_lists(part, (*path, name))
    return found


def _rows(value: object) -> list[Record]:
    """Return the records of a list, of one by index, or of a table by columns as pandas and wandb write it."""
    if isinstance(value, list):
        return [record for record in value if isinstance(record, dict)]
    if not isinstance(value, dict):
        return []
    names, rows = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(rows, list):
        return [dict(zip(names, row, strict=False)) for row in rows if isinstance(row, list)]
    if value and all(map(str.isdecimal, value)):
        return [record for record in value.values() if isinstance(record, dict)]
    records: list[Record] = []
    columns = {name: _column(values) for name, values in value.items()}
    for index in columns.get(step_name(columns), ()):
        records.append({name: values.get(index) for name, values in columns.items()})
    return records


def _column(values: object) -> Record:
    """Return a column by index, whether it was written with one or as a list."""
    if isinstance(values, list):
        return {str(index): value for index, value in enumerate(values)}
    return values if isinstance(values, dict) else {}


FILE_LOG = "file logger (jsonl)"
HISTORY = "history (JSON)"
_JSON = re.compile(r'\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[{\[\]"]|$))')


def begins_as_json(file: Path) -> bool:
    """Return whether a file begins as JSON does: what begins with a time in brackets does not."""
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        return bool(_JSON.match(next(filter(str.strip, lines), "")))


def read_json(file: Path, collector: Collector, run: str) -> tuple[str, list[str]]:
    """Read a file that begins as JSON does; returns its form and notes, or an empty form where it is no JSON.

    Args:
        file: the file.
        collector: what takes its values; nothing, of a document without records.
        run: which run of those that its records name, or empty.

    Raises:
        RecipeError: it holds metrics and a record whose step is no number; or several runs, and none was named; or
            it does not hold the named one.
    """
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first, *more = islice(filter(str.strip, lines), 2)
    record = loaded(first)
    is_line = isinstance(record, dict) and step_of(record.get(step_name(record))) is not None
    # A document may be written in one line, with a step of its own beside its records.
    if is_line and (more or not any(map(_is_list, record.values()))):
        return read_lines(file, collector, run)
    whole = loaded(file.read_text("utf-8-sig", "replace")) if more else record
    lists = record_lists(whole)
    if len(lists) > 1:
        refuse_others(file, HISTORY, run, list(lists))
    chosen = lists.get(run) or next(iter(lists.values()), [])
    notes = _read_records(file, chosen, collector, "" if run in lists else run)
    return ("" if whole is None else HISTORY), notes


def _is_list(value: object) -> bool:
    """Return whether a value is what holds records, whether these have steps or not."""
    return bool(record_lists(value)) or (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _read_records(file: Path, records: Sequence[Record], collector: Collector, run: str) -> list[str]:
    """Read the records of a document, which call their step the same; returns notes on them."""
    name, steps, owners = next(filter(None, map(step_name, records)), ""), _Steps(file), Owners(run)
    for number, record in enumerate(records, start=1):
        if owners.wants(_owner(record)) and not is_summary(record):
            _take_history(record, name, steps.of(record.get(name), f"record {number}"), collector)
    if collector or owners.passed:
        owners.settle(file, HISTORY)
    return steps.notes() if collector else []


def read_lines(file: Path, collector: Collector, run: str) -> tuple[str, list[str]]:
    """Read a file with a record on each line; returns its form and notes, on lines that are none among them.

    Args:
        file: the file.
        collector: what takes its values.
        run: as in `read_json`.

    Raises:
        RecipeError: as in `read_json`.
    """
    lost, nulls, form, steps, owners = 0, False, HISTORY, _Steps(file), Owners(run)
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            record = loaded(line)
            if not isinstance(record, dict):
                lost += bool(line.strip())
            elif not owners.wants(_owner(record)) or is_summary(record):
                continue
            elif isinstance(record.get("data"), dict):
                form = FILE_LOG
                step = steps.of(record.get("step"), f"line {number}")
                nulls |= step is not None and take(record["data"], step, collector, null_is_nan=True)
            else:
                name = step_name(record)
                _take_history(record, name, steps.of(record.get(name), f"line {number}"), collector)
    if collector or owners.passed:
        owners.settle(file, form)
    notes = [f"{lost} lines are no whole JSON and are left out: something was cut off"] if lost else []
    if nulls:
        notes.append("holds nulls: the file logger writes NaN and infinity so, and they are taken for NaN")
    return form, [*notes, *steps.notes()] if collector else notes


class _Steps:
    """Reads the step of one record after the other; counts records without a step, refuses a step that is no number."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._without: list[str] = []
        self._wrong: list[Problem] = []

    def of(self, value: object, where: str) -> int | None:
        """Return the step that the value of a record is; `where` says which record that is."""
        step = step_of(value)
        if step is None and value is None:
            self._without.append(where)
        elif step is None:
            fix = "write whole numbers as steps, or take the record out"
            self._wrong.append(Problem(where=f"{self._file}, {where}", what=f"`{value}` is no step", fix=fix))
        return step

    def notes(self) -> list[str]:
        """Return how many records have no step; raises `RecipeError` where one has something else."""
        if self._wrong:
            raise RecipeError(self._wrong[0])
        return without_step(self._without)


def _take_history(record: Record, name: str, step: int | None, collector: Collector) -> None:
    if step is not None:
        others = {name, owner_name(record)}
        take({key: value for key, value in record.items() if key not in others}, step, collector, null_is_nan=False)


def _owner(record: Mapping[str, Any]) -> str:
    """Return the name of the run that a record is of; empty where it has none."""
    value = record.get(owner_name(record))
    return "" if value is None else str(value).strip()


def loaded(text: str) -> Any:  # any JSON value
    """Return what JSON says; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
