"""Console logs: lines with metrics, in the form of one trainer or another, among anything else.

The rest is skipped: Ray's ``(TaskRunner pid=1)`` and its remarks on repeated lines, colours, progress bars. Where a log
has records of several forms, those of the first form count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from npu_recipes.runs.dict_lines import DictLines
from npu_recipes.runs.log_lines import FoundRecords, LogForm
from npu_recipes.runs.megatron_lines import MegatronLines
from npu_recipes.runs.verl_lines import VerlLines

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_REPEATED = re.compile(r" +\[repeated \d+x across .*")


@dataclass(frozen=True, kw_only=True)
class _Record:
    """A line in which records of a form begin, with the lines that continue it."""

    form: LogForm  # theirs
    text: str  # the lines as one
    number: int  # of the first
    whole: bool = True  # whether the last of them ends as lines do

    def take(self) -> int:
        """Give the form its records; returns how many are cut off."""
        return self.form.take(_REPEATED.sub("", self.text), f"in line {self.number}", whole=self.whole)


def read_console(file: Path) -> FoundRecords | None:
    """Read a log; returns what it holds, or None where that is no metrics."""
    forms: tuple[LogForm, ...] = (VerlLines(), MegatronLines(), DictLines())
    torn = sum(record.take() for record in _records(file, forms))
    found: list[FoundRecords] = []
    for form in forms:
        found += [one for one in form.found() if one.collector]
    if not found:
        return None
    notes = [f"{torn} lines with metrics are cut off: the last value of each is left out"] if torn else []
    notes += [f"{one.records} records {one.which} are left out, beside those {found[0].which}" for one in found[1:]]
    return replace(found[0], notes=(*found[0].notes, *notes))


def _records(file: Path, forms: Sequence[LogForm]) -> Iterator[_Record]:
    """Yield the records of a log, each with all of its lines."""
    signs = tuple(chain.from_iterable(form.signs for form in forms))
    last: _Record | None = None
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, start=1):
            if not last and not any(sign in line for sign in signs):
                continue
            clean = _ESCAPE.sub("", line).rstrip("\n")
            form = next((one for one in forms if one.begins(clean)), None)
            if last and not form and (longer := last.form.joined(last.text, clean)):
                last = replace(last, text=longer)
                continue
            if last:
                yield last
            last = _Record(form=form, text=clean, number=number) if form else None
    if last:
        yield replace(last, whole=_ends_with_newline(file))


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as content:
        size = content.seek(0, 2)
        content.seek(max(size - 1, 0))
        return content.read(1) in {b"\n", b"\r", b""}
