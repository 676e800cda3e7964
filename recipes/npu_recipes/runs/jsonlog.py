"""JSON: lines of verl's file logger, and histories as wandb gives them out, in lines or whole → a collector."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.owners import Owners, owner_name
from npu_recipes.runs.records import step_name, step_of, take, without_step

FILE_LOG = "file logger (jsonl)"
HISTORY = "history (JSON)"


def read_json(file: Path, collector: Collector, run: str) -> tuple[str, list[str]]:
    """Read a file that begins as JSON does; returns its form and notes, or an empty form where it is something else.

    Args:
        file: the file.
        collector: what takes its values.
        run: which run of those that its records name, or empty.

    Raises:
        RecipeError: it holds metrics, and a record whose step is none; or several runs of which none was named, or not
            that one.
    """
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        first = next((line for line in lines if line.strip()), "")
    record = _loaded(first)
    if isinstance(record, dict) and step_of(record.get(step_name(record))) is not None:
        return read_lines(file, collector, run)
    whole = _loaded(file.read_text("utf-8-sig", "replace"))
    records, steps, owners = list(_rows(whole)), _Steps(file), Owners(run)
    name = next(filter(None, (step_name(record) for record in records)), "")
    for number, record in enumerate(records, start=1):
        if owners.wants(_owner(record)):
            _take_history(record, name, steps.of(record.get(name), f"record {number}"), collector)
    if collector or owners.passed:
        owners.settle(file, HISTORY)
    return (HISTORY, steps.notes()) if collector else ("", [])


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
            record = _loaded(line)
            if not isinstance(record, dict):
                lost += bool(line.strip())
            elif not owners.wants(_owner(record)):
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
    """The steps of a file's records, one after the other: who has none is told of, whose is none makes it refused."""

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


def _take_history(record: dict[str, Any], name: str, step: int | None, collector: Collector) -> None:
    if step is not None:
        others = {name, owner_name(record)}
        take({key: value for key, value in record.items() if key not in others}, step, collector, null_is_nan=False)


def _owner(record: Mapping[str, Any]) -> str:
    """Return the name of the run that a record is of; empty where it has none."""
    value = record.get(owner_name(record))
    return "" if value is None else str(value).strip()


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
