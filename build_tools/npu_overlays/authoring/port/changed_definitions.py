"""Changed definitions: upstream before and now → the modules that define each name, of those that differ."""

from __future__ import annotations

import re
from typing import TypeAlias

from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.sources.pin import Pin

_DEFINING = re.compile(rb"\b(?:def|class)[ \t]+(\w+)")
_Places: TypeAlias = dict[str, list[str]]


class ChangedDefinitions:
    """Finds functions and classes by name in the modules that changed; what it found in the last snapshot is kept.

    Args:
        base: upstream where the overlay was locked.
        pin: says which paths are shipped.
    """

    def __init__(self, base: Snapshot, pin: Pin) -> None:
        self._base = base
        self._pin = pin
        self._names: dict[str, list[str]] = {}
        self._last: tuple[Snapshot | None, _Places, _Places, frozenset[str]] = (None, {}, {}, frozenset())

    def places(self, name: str, now: Snapshot) -> list[str]:
        """Return the changed modules that define a function or class of a name now."""
        return self._found(now)[0].get(name, [])

    def places_before(self, name: str, now: Snapshot) -> list[str]:
        """Return the modules that changed since, or are gone, and defined a function or class of a name."""
        return self._found(now)[1].get(name, [])

    def new_names(self, now: Snapshot) -> frozenset[str]:
        """Return the names that none of the modules had before; they differ from those by more than underscores."""
        return self._found(now)[2]

    def alike(self, name: str, now: Snapshot) -> list[tuple[str, str]]:
        """Return the new names, with their modules, that differ from one in case and underscores at most.

        A class may have words before or behind its old name, too.
        """
        found: list[tuple[str, str]] = []
        longer = re.compile(rf"_?(?:[A-Z]\w*)?{re.escape(name)}(?:[A-Z0-9_]\w*)?")
        for other in self.new_names(now):
            if _plain(other) == _plain(name) or (name[:1].isupper() and longer.fullmatch(other)):
                found += [(path, other) for path in self.places(other, now)]
        return sorted(found)

    def mentioning(self, name: str, now: Snapshot) -> list[str]:
        """Return the modules that have a name in more places than before, as an import or in a text too."""
        word, found = re.compile(rb"\b%s\b" % name.encode()), list[str]()
        for path in now.modules_unlike(self._base):
            if not self._pin.place(path) or name.encode() not in now.read(path):
                continue
            before = self._base.read(path) if path in self._base else b""
            if len(word.findall(now.read(path))) > len(word.findall(before)):
                found.append(path)
        return found

    def _found(self, now: Snapshot) -> tuple[_Places, _Places, frozenset[str]]:
        if self._last[0] is not now:
            places, before = self._defining(now, self._base), self._defining(self._base, now)
            known = {name.strip("_") for name in before}
            self._last = now, places, before, frozenset(name for name in places if name.strip("_") not in known)
        return self._last[1:]

    def _defining(self, one: Snapshot, other: Snapshot) -> _Places:
        """Return the shipped modules of a snapshot that define each name, of those that differ in another one."""
        found: _Places = {}
        for path in filter(self._pin.place, one.modules_unlike(other)):
            for name in self._defined(one, path):
                found.setdefault(name, []).append(path)
        return found

    def _defined(self, one: Snapshot, path: str) -> list[str]:
        """Return the names of a module's functions and classes, each once; cached by blob."""
        blob = one.blob(path)
        if blob not in self._names:
            self._names[blob] = [name.decode() for name in dict.fromkeys(_DEFINING.findall(one.read(path)))]
        return self._names[blob]


def _plain(name: str) -> str:
    return name.replace("_", "").casefold()
