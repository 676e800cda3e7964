"""Megatron-LM's lines: ``iteration 10/ 100 | lm loss: 1.2E+00 | …``, and what it prints of validation → a collector.

MindSpeed-LLM and GPT-NeoX print them, too, and MindSpeed-RL ``iteration: 1 / 9 | actor/lr : 1e-06``. The loss of
validation is called as Megatron's TensorBoard calls it: ``lm loss validation``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from npu_recipes.runs.collector import Collector
from npu_recipes.runs.log_lines import FoundRecords
from npu_recipes.runs.records import number

# A digit before it is the end of a line that was cut off.
_TRAINED = r"(?<![A-Za-z_/])iteration:?\s+(\d{1,15})\s*(?:/\s*\d+\s*)?\|"
_EVALUATED = r"(validation(?:-\d+)?) (?:loss|results) at ((?:iteration|the end)[^|]*)\|"
_BEGINS = re.compile(f"{_TRAINED}|{_EVALUATED}")
_ITERATION = re.compile(r"iteration\s+(\d{1,15})\b")
_TEST = re.compile(r"\btest (?:set|data)\b")
_BETWEEN = "|"
# What may stand behind the wrap of a number.
_TAIL = re.compile(r"\s*[-+.eE\d]*\d[-+.eE\d]*\s*")


class MegatronLines:
    """The lines of Megatron-LM in a log; see `log_lines.LogForm`."""

    signs = ("iteration", "validation")

    def __init__(self) -> None:
        self._collector, self._records, self._step = Collector(), 0, 0

    def begins(self, line: str) -> bool:
        """Return whether a record begins in a line."""
        return bool(_BEGINS.search(line))

    def joined(self, record: str, line: str) -> str | None:
        """Return a record joined with the next line if that continues it; None if it is a line of its own.

        Where a number alone may belong to the record's last value, or not, a space between them spoils that value.
        """
        begun = record.rsplit(_BETWEEN, maxsplit=1)[-1]
        pieces = f"{begun}{line}".split(_BETWEEN)
        ended = pieces[:-1] or (pieces if begun.strip() and ":" not in begun else [""])
        if all(_number(piece) is not None for piece in ended):
            return record + line
        return f"{record} {line}" if begun.strip() and _TAIL.fullmatch(line) else None

    def take(self, record: str, where: str, *, whole: bool) -> int:
        """Take a record's values; returns how many of the records in it are cut off."""
        found = list(_BEGINS.finditer(record))
        torn = 0
        for one, following in zip_longest(found, found[1:]):
            pieces = record[one.end() : following.start() if following else len(record)].split(_BETWEEN)
            ends = not following and (whole or not pieces[-1].strip())
            # What is evaluated after the training is of its last step.
            stated = one[1] or (_ITERATION.search(one[3]) or ("", self._step))[1]
            self._step = int(stated)
            self._collector.record(self._step)
            part = "test" if one[2] and _TEST.search(one[3]) else one[2]
            self._take(pieces if ends else pieces[:-1], part, where)
            torn += not ends
        self._records += len(found)
        return torn

    def found(self) -> Iterator[FoundRecords]:
        """Yield what the log holds of this form."""
        form = "console log of Megatron-LM"
        yield FoundRecords(form=form, records=self._records, which="of Megatron-LM", collector=self._collector)

    def _take(self, pieces: Sequence[str], part: str | None, where: str) -> None:
        """Take the values of a record; `part` is the set that was evaluated, None for training."""
        for piece in pieces:
            name, colon, written = (text.strip() for text in piece.partition(":"))
            if not colon:
                continue
            value = number(written)
            metric = _of_evaluation(name, part) if part else name
            if value is None:
                self._collector.pass_over(metric, written, where)
            else:
                self._collector.add(metric, value)


def _of_evaluation(name: str, part: str) -> str:
    """Return the name of ``lm loss value`` and ``lm loss PPL``, as TensorBoard has it."""
    metric, _, kind = name.rpartition(" ")
    return f"{metric} {part}" if kind == "value" else f"{metric} {part} {kind.lower()}"


def _number(piece: str) -> float | None:
    name, _, written = piece.partition(":")
    return number(written.strip()) if name.strip() else None
