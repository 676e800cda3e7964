"""Documents: one whole of JSON → the lists of records in it, such as ``log_history`` of the Trainer's state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from npu_recipes.runs.records import step_name

Record = dict[str, Any]
# What lies deeper is nobody's log.
_DEPTH = 4


def record_lists(whole: object) -> dict[str, list[Record]]:
    """Return the lists of records that have steps, by where they lie: ``log_history``, ``state/history``."""
    return dict(_lists(whole, ()))


def _lists(value: object, path: tuple[str, ...]) -> Iterator[tuple[str, list[Record]]]:
    records = list(_rows(value))
    if any(map(step_name, records)):
        yield "/".join(path), records
    elif isinstance(value, dict) and len(path) < _DEPTH:
        for name, part in value.items():
            yield from _lists(part, (*path, name))


def _rows(value: object) -> Iterator[Record]:
    """Yield the records of a list, of one by index, or of a table by columns as pandas and wandb write it."""
    if isinstance(value, list):
        yield from (record for record in value if isinstance(record, dict))
    elif isinstance(value, dict) and isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        yield from (dict(zip(value["columns"], row, strict=False)) for row in value["data"] if isinstance(row, list))
    elif isinstance(value, dict) and value and all(name.isdecimal() for name in value):
        yield from (record for record in value.values() if isinstance(record, dict))
    elif isinstance(value, dict):
        columns = {name: _column(values) for name, values in value.items()}
        for index in columns.get(step_name(columns), ()):
            yield {name: values.get(index) for name, values in columns.items()}


def _column(values: object) -> Record:
    """Return a column by index, whether it was written with one or as a list."""
    if isinstance(values, list):
        return {str(index): value for index, value in enumerate(values)}
    return values if isinstance(values, dict) else {}
