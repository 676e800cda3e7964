"""Console logs: lines as verl prints them, ``step:1 - actor/pg_loss:0.5 - …``, among anything else.

What stands around them is passed over: Ray's ``(TaskRunner pid=1)`` and what it says of repeated lines, colours,
progress bars. A line that was cut off gives what it holds, but for its last value, which may have lost digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from npu_recipes.runs.collecting import Collector
from npu_recipes.runs.numbers import number

FORM = "console log"
# Not the end of `training/global_step:1 - `; a digit before it is the end of a line that was cut off.
_STEP = re.compile(r"(?<![A-Za-z_/])step:(\d{1,15}) - ")
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_REPEATED = re.compile(r" +\[repeated \d+x across .*")
_BETWEEN = " - "


def read_console(file: Path, collector: Collector) -> list[str]:
    """Read a log; returns notes on what was cut off. Where it holds no metrics, the collector stays empty."""
    torn, last = 0, ""
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            torn += _read(last, collector, whole=True)
            last = line if "step:" in line else ""
    torn += _read(last, collector, whole=_ends_with_newline(file))
    return [f"{torn} lines with metrics are cut off: the last value of each is left out"] if torn else []


def _read(line: str, collector: Collector, *, whole: bool) -> int:
    """Take a line's values; returns how many of its records are cut off."""
    records = list(_records(line)) if line else []
    for position, (step, text) in enumerate(records, start=1):
        pairs = list(_pairs(text))
        cut = not whole if position == len(records) else True
        collector.record(step)
        for metric, value in pairs[:-1] if cut else pairs:
            collector.add(metric, value)
    return max(len(records) - whole, 0)


def _records(line: str) -> Iterator[tuple[int, str]]:
    """Yield each step of a line with the text that belongs to it; two stand in a line where the first was cut off."""
    clean = _ESCAPE.sub("", line)
    found = list(_STEP.finditer(clean))
    for one, following in zip_longest(found, found[1:]):
        end = following.start() if following else len(clean)
        yield int(one[1]), _REPEATED.sub("", clean[one.end() : end])


def _pairs(text: str) -> Iterator[tuple[str, float]]:
    """Yield metrics and values; a metric's own name may hold what stands between them."""
    before: list[str] = []
    for piece in text.strip().split(_BETWEEN):
        metric, colon, written = piece.rpartition(":")
        value = number(written) if colon else None
        if value is None:
            before.append(piece)
            continue
        yield _BETWEEN.join([*before, metric]), value
        before.clear()


def _ends_with_newline(file: Path) -> bool:
    with file.open("rb") as content:
        size = content.seek(0, 2)
        content.seek(max(size - 1, 0))
        return content.read(1) in {b"\n", b"\r", b""}
