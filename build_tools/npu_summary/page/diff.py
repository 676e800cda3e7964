"""Diff: the unified diff a wheel carries → by file, the lines of both sides, side by side, and a table of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, zip_longest

from ..changes import Changes, Unreadable
from .markup import escape, tag

# A line's number and text on each side, None where that side has none.
Row = tuple[int | None, str, int | None, str]
Hunks = list[list[Row]]

_FILE = "diff --git a/"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\n\\ No newline at end of file"
# Stands for that at the end of a line. Bytes that are no text are decoded to other surrogates, so it occurs nowhere.
NO_END = "\udfff"
# Of two lines, where less than this share is the same, marking the rest would mark all.
_ALIKE = 3


def parse(content: bytes, changes: Changes) -> dict[str, Hunks]:
    """Return the hunks that ``changes.diff`` holds of every changed file, by its path upstream.

    Raises:
        Unreadable: it breaks off, or says nothing of a file that was changed.
    """
    text = content.decode("utf-8", "surrogateescape").replace(_NO_END, NO_END)
    lines = iter(text.split("\n"))
    files: dict[str, Hunks] = {}
    hunks: Hunks = []
    for line in lines:
        if line.startswith(_FILE):
            # Both sides have one name: `P b/P`.
            rest = line[len(_FILE) :]
            hunks = files.setdefault(rest[: (len(rest) - len(" b/")) // 2], [])
        elif header := _HUNK.match(line):
            hunks.append(_hunk(header, lines))
    missing = next((file["path"] for file in changes["files"] if file["path"] not in files), None)
    if missing is not None:
        raise Unreadable(f"says nothing of {missing}, which was changed")
    return files


def _hunk(header: re.Match[str], lines: Iterator[str]) -> list[Row]:
    """Return the rows of one hunk: lines that went beside those that came in their place."""
    old, new = int(header[1]), int(header[3])
    old_end, new_end = old + int(header[2] or 1), new + int(header[4] or 1)
    rows: list[Row] = []
    gone: list[tuple[int, str]] = []
    come: list[tuple[int, str]] = []
    while old < old_end or new < new_end:
        line = next(lines, "")
        sign, text = line[:1], line[1:]
        if sign not in (" ", "-", "+"):
            raise Unreadable(f"breaks off within the hunk {header[0]}")
        if sign == " ":
            rows += [*_pairs(gone, come), (old, text, new, text)]
            gone, come = [], []
        elif sign == "-":
            gone.append((old, text))
        else:
            come.append((new, text))
        old, new = old + (sign != "+"), new + (sign != "-")
    return [*rows, *_pairs(gone, come)]


def _pairs(gone: list[tuple[int, str]], come: list[tuple[int, str]]) -> Iterator[Row]:
    for left, right in zip_longest(gone, come, fillvalue=(None, "")):
        yield (*left, *right)


def lines(hunks: Hunks) -> set[int]:
    """Return which lines of the shipped text are shown."""
    return {row[2] for row in chain.from_iterable(hunks) if row[2] is not None}


def sizes(hunks: Hunks) -> tuple[int, int]:
    """Return how many lines went, and how many came."""
    gone = come = 0
    for row in chain.from_iterable(hunks):
        if row[0] is None or row[2] is None or row[1] != row[3]:
            gone, come = gone + (row[0] is not None), come + (row[2] is not None)
    return gone, come


def table(hunks: Hunks, anchors: dict[int, str]) -> str:
    """Return a table of four columns; of two where the whole file came or went.

    By line of the shipped text, `anchors` are the names under which it is linked to.
    """
    rows = list(chain.from_iterable(hunks))
    if any("\0" in row[1] + row[3] for row in rows):
        return tag("p", "Not a text: the diff that the wheel carries holds it.")
    if not rows:
        return tag("p", "An empty file.")
    there = (any(row[0] is not None for row in rows), any(row[2] is not None for row in rows))
    sides = [side for side in (0, 1) if there[side]]
    titles = "".join(tag("th", ("upstream", "shipped")[side], colspan="2", scope="col") for side in sides)
    bodies = ""
    for hunk in hunks:
        bodies += tag("tbody", "".join(_row(row, sides, anchors) for row in hunk))
    columns = '<colgroup><col class="n"><col></colgroup>' * len(sides)
    return tag("table", columns + tag("thead", tag("tr", titles)) + bodies, class_=f"sides{len(sides)}")


def _row(row: Row, sides: list[int], anchors: dict[int, str]) -> str:
    numbers, texts = (row[0], row[2]), _markup(row)
    same = None not in numbers and row[1] == row[3]
    kinds = ("", "") if same else ("del", "add")
    cells = (_cell(numbers[side], texts[side], kinds[side]) for side in sides)
    return tag("tr", "".join(cells), id=anchors.get(row[2] or 0, ""), class_="same" if same else "")


def _cell(number: int | None, text: str, kind: str) -> str:
    if number is None:
        return '<td class="n"></td><td class="none"></td>'
    return tag("td", str(number), class_="n") + tag("td", text, class_=kind)


def _markup(row: Row) -> tuple[str, str]:
    """Return both texts as markup, with what differs marked where the rest is the same."""
    old, new = row[1], row[3]
    if row[0] is None or row[2] is None or old == new:
        return _text(old), _text(new)
    first = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    rest = min(len(old), len(new)) - first
    last = next((n for n in range(rest) if old[-1 - n] != new[-1 - n]), rest)
    if len((old[:first] + old[len(old) - last :]).strip()) * _ALIKE < max(len(old), len(new)):
        return _text(old), _text(new)
    return _with_mark(old, first, last), _with_mark(new, first, last)


def _with_mark(text: str, first: int, last: int) -> str:
    end = len(text) - last
    middle = tag("mark", _text(text[first:end])) if first < end else ""
    return _text(text[:first]) + middle + _text(text[end:])


def _text(text: str) -> str:
    body, end, _ = text.partition(NO_END)
    return escape(body) + (tag("i", "no end of line") if end else "")
