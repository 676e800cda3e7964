"""Conditions: the text of a `drop_when` → a question about upstream that the tool can answer, if it is one.

``version 0.7.0``, ``commit 14b89fed``, ``symbol path.py:Class.method``, ``symbol path.py:function(parameter)`` and
``no symbol path.py:NAME`` are conditions; anything else is for people.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from npu_overlays.overlay.bounds import version_of

Kind = Literal["version", "commit", "symbol", "no symbol"]
_BEGINS = re.compile(r"(version|commit|symbol|no symbol)\s+(\S.*)", re.DOTALL)
_SYMBOL = re.compile(r"(?P<path>[^\s:]+\.py):(?P<symbol>[A-Za-z_][\w.]*)(?:\((?P<parameter>[A-Za-z_]\w*)\))?")
_WRITTEN = (
    "write `version 0.7.0`, `commit` and an id, `symbol path.py:Class.method`, `symbol path.py:function(parameter)` or"
    " `no symbol path.py:NAME`; begin a sentence for people with another word"
)


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One question about upstream; yes means that the operation can go."""

    # whether it asks for a version at least so new, for a commit that is part of it, for a symbol that is there, or
    # for one that is not
    kind: Kind
    value: str = ""  # the version or the commit's id
    path: str = ""  # of a symbol
    symbol: str = ""  # its qualified name
    parameter: str = ""  # one that it must have; empty where being there is enough


def condition(text: str) -> Condition | None:
    """Return a text as a condition; None if it is for people, or invalid."""
    found = _BEGINS.fullmatch(text.strip())
    if found is None:
        return None
    kind, rest = found[1], found[2].strip()
    if kind == "version":
        return Condition(kind="version", value=rest) if version_of(rest) else None
    if kind == "commit":
        return Condition(kind="commit", value=rest) if re.fullmatch(r"[0-9a-f]{7,40}", rest) else None
    named = _SYMBOL.fullmatch(rest)
    if named is None or (kind == "no symbol" and named["parameter"]):
        return None
    parameter = named["parameter"] or ""
    which: Kind = "symbol" if kind == "symbol" else "no symbol"
    return Condition(kind=which, path=named["path"], symbol=named["symbol"], parameter=parameter)


def fault(text: str) -> tuple[str, str] | None:
    """Return what is wrong with a text that begins as a condition and is invalid, and what to do; else None."""
    if _BEGINS.fullmatch(text.strip()) and condition(text) is None:
        return f"`{text}` begins like a condition, and cannot be read as one", _WRITTEN
    return None
