"""verl's lines: ``step:1 - actor/pg_loss:0.5 - …``, as its console logger prints them → a collector.

What stands around them is passed over. A line that was cut off gives what it holds, but for its last value, which may
have lost digits; a value with something else written right behind it is left out. A terminal, or an editor, that has
wrapped a line cuts names and numbers anywhere: 0.342 is 0.3 where the line ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from npu_recipes.runs.collector import Collector
from npu_recipes.runs.log_lines import FoundRecords
from npu_recipes.runs.records import number

BETWEEN = " - "
_SPACE = re.compile(r"\s")
# Where a value begins; the port of `val/http://x:8000/y` is none.
_VALUE = re.compile(
    r":(?:(?:(?:np|numpy)\.\w+|tensor)\()?[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\d./])|(?:nan|inf|True|False)\b)"
)
# What may stand behind the wrap of a number.
_TAIL = re.compile(r"[-+.eE\d]*\d[-+.eE\d]*\)?")


def pair_of(piece: str) -> tuple[str, str, float | None] | None:
    """Return a metric, what is written for it, and its value; None for a part of a name.

    There is no value if other text follows the number directly, as when two processes write into one line.
    """
    metric, colon, written = piece.rpartition(":")
    value = number(written) if colon else None
    begun = _VALUE.search(piece)
    # A name may hold `:2024_I`, but hardly a number and a space: that is a clock, or a progress bar.
    if begun and (value is None or _SPACE.search(piece, begun.end())):
        metric, written = piece[: begun.start()], piece[begun.start() + 1 :]
        return metric, written, number(written)
    return None if value is None else (metric, written, value)


def _begins_well(begun: str, pieces: list[str]) -> bool:
    """Return whether the first of the pieces of two lines, which began in the line before, can be one."""
    if pair_of(begun):
        rest = pieces[0][len(begun) :]
        return len(pieces) > 1 and (not rest.strip() or bool(_TAIL.fullmatch(rest)))
    pair = pair_of(pieces[0])
    return not _SPACE.search(pieces[0]) and pair is not None and pair[2] is not None


def _ends_well(piece: str) -> bool:
    """Return whether the last piece of a line can be one, or the beginning of one."""
    piece = piece.removesuffix("-").rstrip()  # of what stands between two
    pair = pair_of(piece)
    return not _SPACE.search(piece) or (pair is not None and not _SPACE.search(pair[1]))


# Not the end of `training/global_step:1 - `; a digit before it is the end of a line that was cut off.
_STEP = re.compile(r"(?<![A-Za-z_/])step:(\d{1,15}) - ")


class VerlLines:
    """The lines of verl in a log; see `log_lines.LogForm`."""

    signs = ("step:",)

    def __init__(self) -> None:
        self._collector, self._records = Collector(), 0

    def begins(self, line: str) -> bool:
        """Return whether a record begins in a line."""
        return bool(_STEP.search(line))

    def joined(self, record: str, line: str) -> str | None:
        """Return a record joined with the next line if that continues it; None if it is a line of its own.

        Where a number alone may belong to the record's last value, or not, a space between them spoils that value.
        """
        if not line.startswith(" ") and (record.endswith(" -") or line.startswith("- ")):
            record = f"{record.rstrip()} "  # what stands at the end of a line is lost where it is copied
        begun = record.split(BETWEEN)[-1]
        pieces = f"{begun}{line}".split(BETWEEN)
        if _begins_well(begun, pieces) and all(map(pair_of, pieces[1:-1])) and _ends_well(pieces[-1]):
            return record + line
        rest = line.split(BETWEEN, maxsplit=1)[0]
        return f"{record} {rest}" if _TAIL.fullmatch(rest) else None

    def take(self, record: str, where: str, *, whole: bool) -> int:
        """Take a record's values; returns how many of the records in it are cut off."""
        records = list(_records(record))
        for position, (step, text) in enumerate(records, start=1):
            pieces = text.strip().split(BETWEEN)
            self._collector.record(step)
            self._take(pieces if whole and position == len(records) else pieces[:-1], where)
        self._records += len(records)
        return len(records) - whole

    def found(self) -> Iterator[FoundRecords]:
        """Yield what the log holds of this form."""
        yield FoundRecords(form="console log", records=self._records, which="of verl", collector=self._collector)

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
