"""Pieces: ``actor/lr:1e-06``, what a line of verl's console log is made of → metrics and values, also of wrapped lines.

A terminal, or an editor, that has wrapped a line cuts names and numbers anywhere: 0.342 is 0.3 where the line ends.
"""

from __future__ import annotations

import re

from npu_recipes.runs.numbers import number

BETWEEN = " - "
_SPACE = re.compile(r"\s")
# Where a value begins; the port of `val/http://x:8000/y` is none.
_VALUE = re.compile(
    r":(?:(?:(?:np|numpy)\.\w+|tensor)\()?[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\d./])|(?:nan|inf|True|False)\b)"
)
# What may stand behind the wrap of a number.
_TAIL = re.compile(r"[-+.eE\d]*\d[-+.eE\d]*\)?")


def pair_of(piece: str) -> tuple[str, str, float | None] | None:
    """Return a metric, what is written for it, and its value; None for a part of a name.

    There is no value where something else goes on behind the number, as where two processes write into one line.
    """
    metric, colon, written = piece.rpartition(":")
    value = number(written) if colon else None
    begun = _VALUE.search(piece)
    # A name may hold `:2024_I`, but hardly a number and a space: that is a clock, or a progress bar.
    if begun and (value is None or _SPACE.search(piece, begun.end())):
        metric, written = piece[: begun.start()], piece[begun.start() + 1 :]
        return metric, written, number(written)
    return None if value is None else (metric, written, value)


def joined(record: str, line: str) -> str | None:
    """Return a record with the line behind it that goes on with it; None where that is a line of its own.

    Where a number alone may belong to the record's last value, or not, a space between them spoils that value.
    """
    if not line.startswith(" ") and (record.endswith(" -") or line.startswith("- ")):
        record = f"{record.rstrip()} "  # what stands at the end of a line is lost where it is copied
    begun = record.split(BETWEEN)[-1]
    pieces = f"{begun}{line}".split(BETWEEN)
    if _begins_well(begun, pieces) and all(map(pair_of, pieces[1:-1])) and _ends_well(pieces[-1]):
        return record + line
    rest = line.split(BETWEEN, maxsplit=1)[0]
    return f"{record} {rest}" if _TAIL.fullmatch(rest) else None


def _begins_well(begun: str, pieces: list[str]) -> bool:
    """Return whether the first of the pieces of two lines, which began in the line before, can be one."""
    if not pair_of(begun):
        return _is_plain(pieces[0])
    rest = pieces[0][len(begun) :]
    return len(pieces) > 1 and (not rest.strip() or bool(_TAIL.fullmatch(rest)))


def _ends_well(piece: str) -> bool:
    """Return whether the last piece of a line can be one, or the beginning of one."""
    piece = piece.removesuffix("-").rstrip()  # of what stands between two
    pair = pair_of(piece)
    return not _SPACE.search(piece) or (pair is not None and not _SPACE.search(pair[1]))


def _is_plain(piece: str) -> bool:
    pair = pair_of(piece)
    return not _SPACE.search(piece) and pair is not None and pair[2] is not None
