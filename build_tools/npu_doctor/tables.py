"""Published tables: JSON in, versions that belong together and the ranges that widen them out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Table:
    """A published table of versions that belong together.

    Args:
        name: its name.
        source: where it was published.
        key: the component whose version chooses the row.
        columns: the components, in the order of the cells.
        rows: the cells; each a version, a range or several joined by `` | ``.
        symptom: number of the symptom that users see where it does not hold, 0 for none.
        outside: the level of a version that the row does not name: ``broken``, or ``compatible`` where what was
            published is known to be narrower than what works.
        complete: whether a version of the key that has no row in it is worth a word.
    """

    name: str
    source: str
    key: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    symptom: int = 0
    outside: str = "broken"
    complete: bool = False


@dataclass(frozen=True, kw_only=True)
class Range:
    """A published statement that widens or narrows a table.

    Args:
        when: versions or ranges by component that must hold.
        component: what it is about.
        allow: the range it allows.
        source: where it was published.
    """

    when: Mapping[str, tuple[str, ...]]
    component: str
    allow: str
    source: str


def table(item: dict[str, Any]) -> Table:
    """Return a table from its JSON; raises `ValueError` where its rows do not fit its columns."""
    rows = tuple(tuple(str(cell) for cell in row) for row in item["rows"])
    columns = tuple(item["columns"])
    if item["key"] not in columns or any(len(row) != len(columns) for row in rows):
        raise ValueError(f"table {item['name']}: `key` is no column, or a row has not one cell for each column")
    if item.get("outside", "broken") not in ("broken", "compatible"):
        raise ValueError(f"table {item['name']}: `outside` is neither broken nor compatible")
    return Table(**{**item, "rows": rows, "columns": columns})


def statement(item: dict[str, Any]) -> Range:
    """Return a range from its JSON."""
    when = {name: tuple(values) for name, values in item["when"].items()}
    return Range(when=when, component=item["component"], allow=item["allow"], source=item["source"])
