"""Rows: the lines of a table below its header → rows as wide as that, and what their cells say.

What can be read as one number or as another is refused with its line: who guesses compares something else.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from npu_recipes.errors import Problem, RecipeError
from npu_recipes.runs.numbers import number, whole
from npu_recipes.runs.owners import Owners, owner_name

# As spreadsheets write numbers in some languages: who takes 0,5 for no number loses it, who reads 1,234 has to guess.
_COMMA = re.compile(r"[-+]?\d+(?:\.\d+)*,\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?")
_PLAIN = "export it with points for decimals, and nothing between thousands"
# What pandas, R, spreadsheets and Microsoft's C library write for what is no number; `float` knows the others.
_NAN = re.compile(r"#?n/a|#?na|<na>|null|none|[-+]?1\.#(?:qnan|snan|ind)0*", re.IGNORECASE)
_INFINITE = re.compile(r"[-+]?1\.#inf0*", re.IGNORECASE)


class Rows:
    """The rows of a table, one after the other.

    Args:
        file: what is read, for what is said of it.
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
                if any(cell.strip() for cell in row[self._width :]):
                    what = f"has {len(row)} cells, and the header {self._width}"
                    raise self._refused(what, f"{_PLAIN}, or put texts with commas into quotes")
                cells = [*row[: self._width], *[""] * (self._width - len(row))]
                if any(cell.strip() for cell in row) and self._is_own(cells):
                    self.short += len(row) < self._width
                    yield cells
        except csv.Error as error:
            raise self._refused(f"no CSV: {error}", "export it again") from error

    def _is_own(self, cells: list[str]) -> bool:
        return self.owner is None or self.owners.wants(cells[self.owner].strip())

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
