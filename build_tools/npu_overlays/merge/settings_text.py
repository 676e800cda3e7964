"""Settings text: text of a YAML file → the keys above each line.

Only indentation decides: a substitution works on text, and its result need not parse.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

ENDINGS = (".yaml", ".yml")
ITEM = "[]"
_DASHES = re.compile(r"(?:-(?:\s+|$))*")
_KEY = re.compile(r"""(?:"(?P<a>[^"]*)"|'(?P<b>[^']*)'|(?P<c>[^\s#&*!|>%@`{\[,"'][^#]*?))\s*:(?:\s+(?P<value>.*))?$""")
# What stands further in below such a value is one text.
_TEXT_BELOW = re.compile(r"(?:[&!]\S+\s+)*[|>][-+\d]*\s*(?:#.*)?$")


@dataclass(frozen=True, kw_only=True)
class SettingsLine:
    """One line that is neither empty nor a comment."""

    number: int  # from 0
    keys: tuple[str, ...]  # those it stands under, its own the last; an item of a list is ``[]``
    under: tuple[str, ...]  # the same, an item that began above it by what its first line says, ``[name: p]``
    place: tuple[str, ...]  # the same, the items counted
    keyed: bool  # whether it has a key of its own


@dataclass(frozen=True, kw_only=True)
class _Level:
    """One key or item that is open: its column, and what it is called in `Line.keys`, `Line.under`, `Line.place`."""

    column: int
    name: str
    label: str
    counted: str


@dataclass(kw_only=True)
class _Around:
    """The keys and items around a line."""

    levels: list[_Level] = field(default_factory=list)
    items: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def place(self) -> tuple[str, ...]:
        return tuple(one.counted for one in self.levels)

    def key(self, column: int, name: str) -> None:
        above = (one for one in self.levels if one.column < column)
        self.levels = [*above, _Level(column=column, name=name, label=name, counted=name)]

    def item(self, column: int) -> None:
        # The dashes of a list may stand below the first letter of its key.
        self.levels = [one for one in self.levels if one.column < column or (one.column == column and one.name != ITEM)]
        self.items[self.place()] += 1
        self.levels.append(_Level(column=column, name=ITEM, label=ITEM, counted=f"[{self.items[self.place()]}]"))

    def name_items(self, text: str) -> None:
        """Name the items that have no name yet by a line."""
        label = f"[{text.partition(' #')[0].strip()}]"
        self.levels = [replace(one, label=label) if one.label == ITEM else one for one in self.levels]


@lru_cache(maxsize=8)
def keyed_lines(text: str) -> tuple[SettingsLine, ...]:
    """Return the lines of a YAML file with the keys above them."""
    return tuple(_keyed_lines(text))


def _keyed_lines(text: str) -> Iterator[SettingsLine]:
    around = _Around()
    text_below: int | None = None
    for number, line in enumerate(text.split("\n")):
        rest = line.strip()
        column = len(line) - len(line.lstrip())
        if not rest or rest.startswith("#"):
            continue
        if rest.split()[0] == "---":
            document = f"{rest.split()[0]}{number}"
            around = _Around(levels=[_Level(column=-1, name="", label="", counted=document)])
            continue
        keyed = False
        if text_below is None or column <= text_below:
            keyed, opens_text = _read(around, column, rest)
            text_below = around.levels[-1].column if opens_text and around.levels else None
        inside = [one for one in around.levels if one.column >= 0]
        keys, under = (tuple(one.name for one in inside), tuple(one.label for one in inside))
        yield SettingsLine(number=number, keys=keys, under=under, place=around.place(), keyed=keyed)
        around.name_items(_DASHES.sub("", rest, count=1))


def _read(around: _Around, column: int, rest: str) -> tuple[bool, bool]:
    """Add what a line opens; return whether it has a key, and whether a block of text follows."""
    dashes = _DASHES.match(rest)
    behind = dashes.end() if dashes else 0
    for match in re.finditer("-", rest[:behind]):
        around.item(column + match.start())
    found = _KEY.match(rest[behind:])
    if found:
        around.key(column + behind, found["a"] or found["b"] or found["c"] or "")
    value = (found["value"] or "") if found else rest[behind:]
    return bool(found), bool(_TEXT_BELOW.match(value))


def repeated_keys(before: str, after: str) -> list[str]:
    """Return the keys that a text newly has twice in one place."""
    old, new = _key_counts(before), _key_counts(after)
    return [".".join(place) for place, count in new.items() if count > max(old[place], 1)]


def _key_counts(text: str) -> Counter[tuple[str, ...]]:
    return Counter(one.place for one in keyed_lines(text) if one.keyed)
