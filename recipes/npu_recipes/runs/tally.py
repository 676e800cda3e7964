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
        if "loss" in record or not any(name.startswith(_EVALUATED) for name in record):
            self._count(record.get("epoch"))
        take(record, len(self._epochs), self._collector, null_is_nan=False)

    def found(self, which: str) -> Found:
        """Return the records, from the number on that the first has by its epoch; `which` says in words which ones."""
        before = self._before()
        self._collector.count_from(before)
        beginning = f", the first as {before + 1}, by its epoch" if before else ""
        note = f"its records state no step: they are counted{beginning}"
        return Found(form=FORM, records=self.records, which=which, collector=self._collector, notes=(note,))

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
