"""Numbers: how values are written in logs and exports → floats."""

from __future__ import annotations

import re

# numpy 2 writes its numbers so where they are printed by `repr`, as verl's console logger does.
_WRAPPED = re.compile(r"(?:(?:np|numpy)\.\w+|tensor)\(([^,()]*)(?:,.*)?\)")
# Beyond it, floats are not exact: what stands there is no step.
LARGEST = 2**53
_WORDS = {"True": 1.0, "False": 0.0, "true": 1.0, "false": 0.0}


def number(text: str) -> float | None:
    """Return the number that a text is; None where it is none."""
    try:
        return float(text)
    except ValueError:
        pass
    wrapped = _WRAPPED.fullmatch(text)
    return number(wrapped[1]) if wrapped else _WORDS.get(text)


def whole(text: str) -> int | None:
    """Return the step that a text is, ``12`` or ``12.0``; None where it is none."""
    value = number(text)
    return int(value) if value is not None and value.is_integer() and abs(value) < LARGEST else None
