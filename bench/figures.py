"""Figures: measurements with their goals → a table or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

_WIDTH = 160
_DETAIL = "medians"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the result.

    Args:
        what: was measured.
        value: a ratio, or megabytes.
        unit: of the value.
        goal: the value is to be at most this.
        detail: the medians behind it.
    """

    what: str
    value: float
    unit: str
    goal: float
    detail: str

    @property
    def verdict(self) -> str:
        """Whether the goal is met."""
        return "met" if self.value <= self.goal else "missed"


def show(figures: list[Figure], *, as_json: bool) -> None:
    """Print the figures."""
    if as_json:
        print(json.dumps([{**asdict(one), "verdict": one.verdict} for one in figures], ensure_ascii=False, indent=2))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("what", "measured", "goal", "verdict", _DETAIL):
        table.add_column(heading, no_wrap=heading != _DETAIL)  # what may be wrapped gives way first
    for one in figures:
        verdict = Text(one.verdict, style="green" if one.verdict == "met" else "red")
        table.add_row(one.what, f"{one.value:.2f} {one.unit}", f"≤ {one.goal:g} {one.unit}", verdict, one.detail)
    Console(width=_WIDTH).print(table)
