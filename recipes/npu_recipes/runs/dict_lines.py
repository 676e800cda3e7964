"""Dictionaries: ``{'loss': '1.2', 'epoch': '0.5'}``, as Hugging Face's Trainer prints them → a collector.

So do trl, LLaMA-Factory and ms-swift, which are made of it; the last of them states the step, too. If none is stated,
records are counted, those of each process by itself; their epochs show where a resumed run continues.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from itertools import pairwise

from npu_recipes.runs.collector import Collector
from npu_recipes.runs.log_lines import FoundRecords
from npu_recipes.runs.records import is_summary, number, step_name, step_of, take

FORM = "console log of Hugging Face's Trainer"
_EVALUATED = ("eval_", "test_")
# Fewer records do not tell by how much the epoch rises between two.
_LEAST = 3


class Tally:
    """Counts the records of one process, those that are printed twice once.

    The web interface of LLaMA-Factory prints behind each record some of its values again, with fewer digits.

    Attributes:
        records: how many there are.
    """

    def __init__(self) -> None:
        self._all, self._once = _Counted(), _Counted()
        # Of two records that are one: the first, where the second is not there yet, and what the last two said.
        self._waiting: Mapping[str, object] | None = None
        self._last: Mapping[str, object] = {}
        self._twice = True

    @property
    def records(self) -> int:
        """How many there are."""
        return self._all.records

    def take(self, record: Mapping[str, object]) -> None:
        """Take a record."""
        self._all.take(record)
        if not self._twice:
            return
        if self._waiting is None and not _is_counted(record):
            self._once.take(record)
        elif self._waiting is None:
            self._waiting = record
        else:
            self._last, former = max(self._waiting, record, key=len), self._last
            self._twice, self._waiting = _are_one(self._last, min(record, self._waiting, key=len)), None
            # A run whose every value stands still prints no record twice.
            self._twice = self._twice and not _are_same(self._last, former)
            self._once.take(self._last)

    def found(self, which: str) -> FoundRecords:
        """Return the records, from the number on that the first has by its epoch; `which` says in words which ones."""
        if self._twice and self._waiting is None and self._last:
            return self._once.found(which, "each is printed twice and counts once")
        return self._all.found(which)


def _is_counted(record: Mapping[str, object]) -> bool:
    """Return whether a record has a number of its own; one of an evaluation belongs to the record before."""
    return "loss" in record or not any(name.startswith(_EVALUATED) for name in record)


def _are_one(full: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Return whether a record is another one, or some of its values with fewer digits."""
    if full.keys() == other.keys():
        return _are_same(full, other)
    return full.keys() > other.keys() and all(_is_rounded(value, full[name]) for name, value in other.items())


def _are_same(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Return whether two records say the same, NaN for NaN."""
    return {name: str(value) for name, value in one.items()} == {name: str(value) for name, value in other.items()}


def _is_rounded(value: object, exact: object) -> bool:
    if isinstance(value, float) and isinstance(exact, float):
        return math.isclose(value, exact, rel_tol=1e-3, abs_tol=0.005)
    return value == exact


class _Counted:
    """Counts the records of one process; those of an evaluation belong to the one before.

    Attributes:
        records: how many there are.
    """

    def __init__(self) -> None:
        self.records = 0
        self._collector = Collector()
        # Of each record that was counted, ascending.
        self._epochs = array("d")

    def take(self, record: Mapping[str, object]) -> None:
        """Take a record."""
        self.records += 1
        if _is_counted(record):
            epoch = record.get("epoch")
            last = self._epochs[-1] if self._epochs else 0.0
            reached = epoch if isinstance(epoch, float) and math.isfinite(epoch) else last
            if reached < last:  # the run was resumed
                del self._epochs[bisect_left(self._epochs, reached) :]
            self._epochs.append(reached)
        take(record, len(self._epochs), self._collector, null_is_nan=False)

    def found(self, which: str, *notes: str) -> FoundRecords:
        """Return them; see `Tally.found`."""
        before = self._before()
        self._collector.count_from(before)
        beginning = f", the first as {before + 1}, by its epoch" if before else ""
        note = f"its records state no step: they are counted{beginning}"
        return FoundRecords(
            form=FORM, records=self.records, which=which, collector=self._collector, notes=(note, *notes)
        )

    def _before(self) -> int:
        """Return how many records are missing at the beginning, as where the run was resumed."""
        if len(self._epochs) < _LEAST or any(one == other for one, other in pairwise(self._epochs)):
            return 0
        rise = (self._epochs[-1] - self._epochs[0]) / (len(self._epochs) - 1)
        return max(round(self._epochs[0] / rise) - 1, 0)


_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# A number, a word or a text, the form in which numpy or torch prints one, or a container, which is none.
_VALUE = rf"{_TEXT}|[\w.]+\([^()]*\)|\[[^\[\]]*\]|\{{[^{{}}]*\}}|[^,'\"{{}}\[\]]+"
_QUOTES = "'\""
_PAIR = re.compile(rf"\s*({_TEXT})\s*:\s*({_VALUE})\s*([,}}])")
_BEGINS = re.compile(rf"\{{(?={_TEXT}\s*:\s*[^\s{{(])")
# A longer one is no record of metrics.
_LONG = 2**16
# What torchrun and srun write before the lines of each process.
_PROCESS = re.compile(r"(?:default|rank)[ =:]?\d+|\[\d+\](?=:)|^\s*\d+(?=: )")


class DictLines:
    """The dictionaries in a log; see `log_lines.LogForm`."""

    signs = ("{'",)

    def __init__(self) -> None:
        self._stated, self._records = Collector(), 0
        self._counted: dict[str, Tally] = {}

    def begins(self, line: str) -> bool:
        """Return whether a record begins in a line."""
        return bool(_BEGINS.search(line))

    def joined(self, record: str, line: str) -> str | None:
        """Return a record joined with the next line if that continues it; None if it is a line of its own."""
        *_, begun = _BEGINS.finditer(record)
        _, position, ends = _pairs(record, begun.end())
        if ends or len(record) > _LONG:
            return None
        following = _PAIR.match(record + line, position)
        # Of a line that was cut off, what is printed behind it makes no number of the last value.
        return record + line if following and (following[2][0] in _QUOTES or _is_number(following[2])) else None

    def take(self, record: str, where: str, *, whole: bool) -> int:
        """Take a record's values; returns how many of the records in it are cut off."""
        del where, whole  # it says its step, and ends with a brace
        torn, position, process = 0, 0, ""
        while begun := _BEGINS.search(record, position):
            process = process if position else " ".join(_PROCESS.findall(record[: begun.start()]))
            pairs, position, ends = _pairs(record, begun.end())
            step = step_of(pairs.get(step_name(pairs)))
            # Others are configurations.
            if step is not None or any(name == "epoch" or name.endswith("loss") for name in pairs):
                self._take(pairs, step, process)
                torn += not ends
        return torn

    def found(self) -> Iterator[FoundRecords]:
        """Yield what states its steps, and what one process printed without."""
        yield FoundRecords(form=FORM, records=self._records, which="that state their step", collector=self._stated)
        first, *others = sorted(self._counted.values(), key=lambda one: -one.records) or [Tally()]
        yield first.found("that state no step")
        for one in others:
            yield one.found("of another process")

    def _take(self, record: dict[str, object], step: int | None, process: str) -> None:
        if is_summary(record):
            return
        if step is None:
            self._counted.setdefault(process, Tally()).take(record)
            return
        self._records += 1
        del record[step_name(record)]
        take(record, step, self._stated, null_is_nan=False)


def _pairs(text: str, position: int) -> tuple[dict[str, object], int, bool]:
    """Return the pairs of a dictionary that are there whole, where they end, and whether it ends there, too.

    A value is a number, None where it is written so, else the text.
    """
    pairs: dict[str, object] = {}
    while found := _PAIR.match(text, position):
        written = found[2].strip()
        bare = written[1:-1] if written[0] in _QUOTES else written
        pairs[found[1][1:-1]] = number(bare) if _is_number(bare) else bare
        position = found.end()
        if found[3] == "}":
            return pairs, position, True
    return pairs, position, False


def _is_number(written: str) -> bool:
    """Return whether a number is written, or None, as for a metric that was not logged."""
    return number(written) is not None or written.strip() == "None"
