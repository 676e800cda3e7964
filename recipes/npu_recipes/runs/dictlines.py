"""Dictionaries: ``{'loss': '1.2', 'epoch': '0.5'}``, as Hugging Face's Trainer prints them → a collector.

So do trl, LLaMA-Factory and ms-swift, which are made of it; the last of them states the step, too. Where none is
stated, records are counted, those of each process by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.lines import Found
from npu_recipes.runs.numbers import number
from npu_recipes.runs.records import is_summary, step_name, step_of, take
from npu_recipes.runs.tally import FORM, Tally

_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# A number or a word, a text, what numpy or torch makes of one, or what holds others and is none.
_VALUE = rf"{_TEXT}|[\w.]+\([^()]*\)|\[[^\[\]]*\]|\{{[^{{}}]*\}}|[^,'\"{{}}\[\]]+"
_QUOTES = "'\""
_PAIR = re.compile(rf"\s*({_TEXT})\s*:\s*({_VALUE})\s*([,}}])")
_BEGINS = re.compile(rf"\{{(?={_TEXT}\s*:\s*[^\s{{(])")
# A longer one is no record of metrics.
_LONG = 2**16
# What torchrun and srun write before the lines of each process.
_PROCESS = re.compile(r"(?:default|rank)[ =:]?\d+|\[\d+\](?=:)|^\s*\d+(?=: )")


class DictLines:
    """The dictionaries in a log; see `lines.Lines`."""

    signs = ("{'",)

    def __init__(self) -> None:
        self._stated, self._records = Collector(), 0
        self._counted: dict[str, Tally] = {}

    def begins(self, line: str) -> bool:
        """Return whether a record begins in a line."""
        return bool(_BEGINS.search(line))

    def joined(self, record: str, line: str) -> str | None:
        """Return a record with the line behind it that goes on with it; None where that is a line of its own."""
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
            if _is_record(pairs):
                self._take(pairs, process)
                torn += not ends
        return torn

    def found(self) -> Iterator[Found]:
        """Yield what states its steps, and what one process printed without."""
        yield Found(form=FORM, records=self._records, which="that state their step", collector=self._stated)
        first, *others = sorted(self._counted.values(), key=lambda one: -one.records) or [Tally()]
        yield first.found("that state no step")
        for one in others:
            yield one.found("of another process")

    def _take(self, record: Mapping[str, object], process: str) -> None:
        name = step_name(record)
        step = step_of(record.get(name))
        if is_summary(record):
            return
        if step is None:
            self._counted.setdefault(process, Tally()).take(record)
            return
        self._records += 1
        take({key: value for key, value in record.items() if key != name}, step, self._stated, null_is_nan=False)


def _pairs(text: str, position: int) -> tuple[dict[str, object], int, bool]:
    """Return the pairs of a dictionary that are there whole, where they end, and whether it ends there, too."""
    pairs: dict[str, object] = {}
    while found := _PAIR.match(text, position):
        pairs[found[1][1:-1]] = _value(found[2].strip())
        position = found.end()
        if found[3] == "}":
            return pairs, position, True
    return pairs, position, False


def _value(written: str) -> object:
    """Return what is written: a number, None where there is none, else the text."""
    text = written[1:-1] if written[0] in _QUOTES else written
    return number(text) if _is_number(text) else text


def _is_number(written: str) -> bool:
    """Return whether a number is written, or None, as for a metric that was not logged."""
    return number(written) is not None or written.strip() == "None"


def _is_record(pairs: Mapping[str, object]) -> bool:
    """Return whether a dictionary is a record of metrics, and no configuration."""
    stated = step_of(pairs.get(step_name(pairs))) is not None
    return stated or any(name == "epoch" or name.endswith("loss") for name in pairs)
