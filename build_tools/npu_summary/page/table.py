"""Table: the hunks of one file → upstream's text and the shipped one, side by side."""

from __future__ import annotations

from .diff import NO_END, Hunks, Row
from .markup import escape, tag

# Of two lines, where less than this share is the same, marking the rest would mark all.
_ALIKE = 3


def lines(hunks: Hunks) -> set[int]:
    """Return which lines of the shipped text are shown."""
    return {row[2] for hunk in hunks for row in hunk if row[2] is not None}


def sizes(hunks: Hunks) -> tuple[int, int]:
    """Return how many lines went, and how many came."""
    changed = [row for hunk in hunks for row in hunk if row[0] is None or row[2] is None or row[1] != row[3]]
    return sum(row[0] is not None for row in changed), sum(row[2] is not None for row in changed)


def table(hunks: Hunks, anchors: dict[int, str]) -> str:
    """Return a table of four columns; of two where the whole file came or went.

    Args:
        hunks: what differs.
        anchors: by line of the shipped text, the name under which it is linked to.
    """
    if any("\0" in row[1] or "\0" in row[3] for hunk in hunks for row in hunk):
        return tag("p", "Not a text: the diff that the wheel carries holds it.")
    rows = [row for hunk in hunks for row in hunk]
    if not rows:
        return tag("p", "An empty file.")
    sides = [side for side in (0, 1) if any(row[2 * side] is not None for row in rows)]
    titles = "".join(tag("th", ("upstream", "shipped")[side], colspan="2", scope="col") for side in sides)
    bodies = (tag("tbody", "".join(_row(row, sides, anchors) for row in hunk)) for hunk in hunks)
    columns = '<colgroup><col class="n"><col></colgroup>' * len(sides)
    return tag("table", columns + tag("thead", tag("tr", titles)) + "".join(bodies), class_=f"sides{len(sides)}")


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
