"""Diff: the unified diff a wheel carries → by file, the lines of both sides, side by side."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

from ..changes import Changes, Unreadable

# A line's number and text on each side, None where that side has none.
Row = tuple[int | None, str, int | None, str]
Hunks = list[list[Row]]

_FILE = "diff --git a/"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_END = "\n\\ No newline at end of file"
# Stands for that at the end of a line. Bytes that are no text are decoded to other surrogates, so it occurs nowhere.
NO_END = "\udfff"


def parse(content: bytes, changes: Changes) -> dict[str, Hunks]:
    """Return the hunks of every changed file, by its path upstream.

    Args:
        content: what ``changes.diff`` holds.
        changes: the changes it belongs to.

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
