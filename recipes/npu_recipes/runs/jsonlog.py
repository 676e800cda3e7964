"""JSON: lines of verl's file logger, and histories as wandb gives them out, in lines or whole → a collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.records import step_name, step_of, take

FILE_LOG = "file logger (jsonl)"
HISTORY = "history (JSON)"


def read_json(file: Path, collector: Collector) -> tuple[str, list[str]]:
    """Read a file that begins as JSON does; returns its form and notes, or an empty form where it is something else."""
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    record = _loaded(first)
    if isinstance(record, dict) and step_of(record.get(step_name(record))) is not None:
        return read_lines(file, collector)
    whole = _loaded(file.read_text("utf-8-sig", "replace"))
    records = list(_rows(whole))
    name = next(filter(None, (step_name(record) for record in records)), "")
    _take_history(records, name, collector)
    return (HISTORY if collector else ""), []


def read_lines(file: Path, collector: Collector) -> tuple[str, list[str]]:
    """Read a file with a record on each line; returns its form and notes, on lines that are none among them."""
    lost, nulls, form = 0, False, HISTORY
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        for line in filter(str.strip, lines):
            record = _loaded(line)
            if not isinstance(record, dict):
                lost += 1
                continue
            if isinstance(record.get("data"), dict):
                form = FILE_LOG
                step = step_of(record.get("step"))
                nulls |= step is not None and take(record["data"], step, collector, null_is_nan=True)
            else:
                _take_history([record], step_name(record), collector)
    notes = [f"{lost} lines are no whole JSON and are left out: something was cut off"] if lost else []
    if nulls:
        notes.append("holds nulls: the file logger writes NaN and infinity so, and they are taken for NaN")
    return form, notes


def _take_history(records: list[dict[str, Any]], name: str, collector: Collector) -> None:
    for record in records:
        step = step_of(record.get(name))
        if step is not None:
            own = {key: value for key, value in record.items() if key != name}
            take(own, step, collector, null_is_nan=False)


def _rows(whole: object) -> Iterator[dict[str, Any]]:
    """Yield the records of a document: a list of them, or a table by columns as pandas and wandb write it."""
    if isinstance(whole, list):
        yield from (record for record in whole if isinstance(record, dict))
    elif isinstance(whole, dict) and isinstance(whole.get("columns"), list) and isinstance(whole.get("data"), list):
        yield from (dict(zip(whole["columns"], row, strict=False)) for row in whole["data"] if isinstance(row, list))
    elif isinstance(whole, dict):
        columns = {name: _column(values) for name, values in whole.items()}
        for index in columns.get(step_name(columns), ()):
            yield {name: values.get(index) for name, values in columns.items()}


def _column(values: object) -> dict[str, Any]:
    """Return a column by index, whether it was written with one or as a list."""
    if isinstance(values, list):
        return {str(index): value for index, value in enumerate(values)}
    return values if isinstance(values, dict) else {}


def _loaded(text: str) -> Any:  # whatever JSON holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
