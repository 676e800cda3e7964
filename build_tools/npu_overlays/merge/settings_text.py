"""Settings text: text of a YAML file → the keys above each line.

Only indentation decides: a substitution works on text, and its result need not parse.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

ENDINGS = (".yaml", ".yml")
ITEM = "[]"
_DASHES = re.compile(r"(?:-(?:\s+|$))*")
_KEY = re.compile(r"""(?:"(?P<a>[^"]*)"|'(?P<b>[^']*)'|(?P<c>[^\s#&*!|>%@`{\[,"'][^#]*?))\s*:(?:\s+(?P<value>.*))?$""")
# What stands further in below such a value is one text.
_TEXT_BELOW = re.compile(r"(?:[&!]\S+\s+)*[|>][-+\d]*\s*(?:#.*)?$")


class _Opened(NamedTuple):
    """What a line opens, by its text alone."""

    column: int
    dashes: tuple[int, ...]  # the columns of the items that begin there
    behind: int  # the column of what follows them
    key: str | None
    has_text: bool  # whether a block of text follows
    is_document: bool  # whether another document begins


class _Level(NamedTuple):
    """One key or item that is open: its column, and its name in `keys`, `under` and `place` of a `SettingsLine`."""

    column: int
    name: str
    label: str
    counted: str


@dataclass(frozen=True, kw_only=True)
class SettingsLine:
    """One line that is neither empty nor a comment."""

    number: int  # from 0
    levels: Sequence[_Level]  # what is open there
    keyed: bool  # whether it has a key of its own

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys it stands under, its own the last; an item of a list is ``[]``."""
        return tuple(one.name for one in self.levels if one.column >= 0)

    @property
    def under(self) -> tuple[str, ...]:
        """The same, an item that began above it by what its first line says, ``[name: p]``."""
        return tuple(one.label for one in self.levels if one.column >= 0)

    @property
    def place(self) -> tuple[str, ...]:
        """The same, the items counted, with the document it is in."""
        return _place(self.levels)


@dataclass(kw_only=True)
class _Around:
    """The keys and items around a line."""

    levels: list[_Level] = field(default_factory=list)  # never changed, but exchanged: lines keep theirs
    items: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def open(self, opened: _Opened) -> None:
        for column in opened.dashes:
            self.item(column)
        if opened.key is not None:
            self.key(opened.behind, opened.key)

    def key(self, column: int, name: str) -> None:
        above = (one for one in self.levels if one.column < column)
        self.levels = [*above, _Level(column=column, name=name, label=name, counted=name)]

    def item(self, column: int) -> None:
        # The dashes of a list may stand below the first letter of its key.
        self.levels = [one for one in self.levels if one.column < column or (one.column == column and one.name != ITEM)]
        place = _place(self.levels)
        self.items[place] += 1
        self.levels.append(_Level(column=column, name=ITEM, label=ITEM, counted=f"[{self.items[place]}]"))

    def name_items(self, text: str) -> None:
        """Name the items that have no name yet by a line."""
        if any(one.label == ITEM for one in self.levels):
            label = f"[{text.partition(' #')[0].strip()}]"
            self.levels = [one._replace(label=label) if one.label == ITEM else one for one in self.levels]


def _place(levels: Iterable[_Level]) -> tuple[str, ...]:
    return tuple(one.counted for one in levels)


@lru_cache(maxsize=64)
def keyed_lines(text: str) -> tuple[SettingsLine, ...]:
    """Return the lines of a YAML file with the keys above them."""
    return tuple(_keyed_lines(text))


def _keyed_lines(text: str) -> Iterator[SettingsLine]:
    around = _Around()
    text_below: int | None = None
    for number, line in enumerate(text.split("\n")):
        opened = _opened(line)
        if opened is None:
            continue
        if opened.is_document:
            around = _Around(levels=[_Level(column=-1, name="", label="", counted=f"---{number}")])
            continue
        keyed = False
        if text_below is None or opened.column <= text_below:
            keyed = opened.key is not None
            around.open(opened)
            text_below = around.levels[-1].column if opened.has_text and around.levels else None
        yield SettingsLine(number=number, levels=around.levels, keyed=keyed)
        around.name_items(_DASHES.sub("", line.strip(), count=1))


# Two versions of a file have most of their lines in common.
@lru_cache(maxsize=4096)
def _opened(line: str) -> _Opened | None:
    """Return what a line opens; None for an empty line or a comment."""
    rest, column = line.strip(), len(line) - len(line.lstrip())
    if not rest or rest.startswith("#"):
        return None
    dashes = _DASHES.match(rest)
    behind = dashes.end() if dashes else 0
    found = _KEY.match(rest[behind:])
    value = (found["value"] or "") if found else rest[behind:]
    return _Opened(
        column=column,
        dashes=tuple(column + match.start() for match in re.finditer("-", rest[:behind])),
        behind=column + behind,
        key=(found["a"] or found["b"] or found["c"] or "") if found else None,
        has_text=bool(_TEXT_BELOW.match(value)),
        is_document=rest.split()[0] == "---",
    )


def repeated_keys(before: str, after: str) -> list[str]:
    """Return the keys that a text newly has twice in one place."""
    # Most substitutions change values alone.
    if list(map(_opened, before.split("\n"))) == list(map(_opened, after.split("\n"))):
        return []
    old, new = _key_counts(before), _key_counts(after)
    return [".".join(place) for place, count in new.items() if count > max(old[place], 1)]


def _key_counts(text: str) -> Counter[tuple[str, ...]]:
    return Counter(one.place for one in keyed_lines(text) if one.keyed)
