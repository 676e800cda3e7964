"""verl's lines: ``step:1 - actor/pg_loss:0.5 - …``, as its console logger prints them → a collector.

What stands around them is passed over. A line that was cut off gives what it holds, but for its last value, which may
have lost digits; a value with something else written right behind it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.lines import Found
from npu_recipes.runs.pieces import BETWEEN, joined, pair_of

# Not the end of `training/global_step:1 - `; a digit before it is the end of a line that was cut off.
_STEP = re.compile(r"(?<![A-Za-z_/])step:(\d{1,15}) - ")


class VerlLines:
    """The lines of verl in a log; see `lines.Lines`."""

    signs = ("step:",)

    def __init__(self) -> None:
        self._collector, self._records = Collector(), 0

    def begins(self, line: str) -> bool:
        """Return whether a record begins in a line."""
        return bool(_STEP.search(line))

    def joined(self, record: str, line: str) -> str | None:
        """Return a record with the line behind it that goes on with it; None where that is a line of its own."""
        return joined(record, line)

    def take(self, record: str, where: str, *, whole: bool) -> int:
        """Take a record's values; returns how many of the records in it are cut off."""
        records = list(_records(record))
        for position, (step, text) in enumerate(records, start=1):
            pieces = text.strip().split(BETWEEN)
            self._collector.record(step)
            self._take(pieces if whole and position == len(records) else pieces[:-1], where)
        self._records += len(records)
        return len(records) - whole

    def found(self) -> Iterator[Found]:
        """Yield what the log holds of this form."""
        yield Found(form="console log", records=self._records, which="of verl", collector=self._collector)

    def _take(self, pieces: Sequence[str], where: str) -> None:
        """Take a record's values; a metric's own name may hold what stands between them."""
        before: list[str] = []
        for piece in pieces:
            if (pair := pair_of(piece)) is None:
                before.append(piece)
                continue
            name, written, value = pair
            metric = BETWEEN.join([*before, name])
            before.clear()
            if value is None:
                self._collector.pass_over(metric, written, where)
            else:
                self._collector.add(metric, value)


def _records(line: str) -> Iterator[tuple[int, str]]:
    """Yield each step of a line with the text that belongs to it; two stand in a line where the first was cut off."""
    found = list(_STEP.finditer(line))
    for one, following in zip_longest(found, found[1:]):
        end = following.start() if following else len(line)
        yield int(one[1]), line[one.end() : end]
