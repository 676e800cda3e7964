"""Tally: records that state no step, as Hugging Face's Trainer prints them → the same by the number of each.

Their epochs say where a run that was resumed goes on.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Mapping
from itertools import pairwise

from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.lines import Found
from npu_recipes.runs.records import take

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

    def found(self, which: str) -> Found:
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
    return full.keys() > other.keys() and all(_is_rounded(other[name], full[name]) for name in other)


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
            self._count(record.get("epoch"))
        take(record, len(self._epochs), self._collector, null_is_nan=False)

    def found(self, which: str, *notes: str) -> Found:
        """Return them; see `Tally.found`."""
        before = self._before()
        self._collector.count_from(before)
        beginning = f", the first as {before + 1}, by its epoch" if before else ""
        note = f"its records state no step: they are counted{beginning}"
        return Found(form=FORM, records=self.records, which=which, collector=self._collector, notes=(note, *notes))

    def _count(self, epoch: object) -> None:
        last = self._epochs[-1] if self._epochs else 0.0
        reached = epoch if isinstance(epoch, float) and math.isfinite(epoch) else last
        if reached < last:
            del self._epochs[bisect_left(self._epochs, reached) :]
        self._epochs.append(reached)

    def _before(self) -> int:
        """Return how many records are missing at the beginning, as where the run was resumed."""
        if len(self._epochs) < _LEAST or any(one == other for one, other in pairwise(self._epochs)):
            return 0
        rise = (self._epochs[-1] - self._epochs[0]) / (len(self._epochs) - 1)
        return max(round(self._epochs[0] / rise) - 1, 0)
