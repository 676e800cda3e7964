"""Published tables of versions that belong together, and the ranges that widen them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npu_doctor.jsonfiles import Mistake

_OUTSIDE = ("broken", "compatible")


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


def misfits(table: Table, prefix: str) -> Iterator[Mistake]:
    """Yield where a table does not fit itself."""
    columns = ", ".join(table.columns)
    if table.key not in table.columns:
        yield Mistake(where=f"{prefix}key", what=f"`{table.key}` is no column", fix=f"one of: {columns}")
    if table.outside not in _OUTSIDE:
        what = f"`{table.outside}` is no level of it"
        yield Mistake(where=f"{prefix}outside", what=what, fix=f"one of: {', '.join(_OUTSIDE)}")
    for number, row in enumerate(table.rows):
        if len(row) != len(table.columns):
            fix = f"write one for each column: {columns}"
            yield Mistake(where=f"{prefix}rows[{number}]", what=f"has {len(row)} cells", fix=fix)
