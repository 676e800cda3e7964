"""Changed definitions: upstream before and now → the modules that define each name, of those that differ."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.sources.pin import Pin

_DEFINING = re.compile(rb"\b(?:def|class)[ \t]+(\w+)")
_INHERITING = re.compile(rb"\bclass[ \t]+(\w+)[ \t]*\(([^)]*)\)")
# The words of a class's name but the last, two or more.
_STEM = re.compile(r"_?(?:[A-Z][a-z0-9]+){2,}(?=[A-Z][a-z0-9]+$)")
_Places: TypeAlias = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What was found in one snapshot."""

    now: Snapshot | None = None
    places: _Places = field(default_factory=dict)  # by name, the changed modules that define it now
    before: _Places = field(default_factory=dict)  # likewise before
    new: frozenset[str] = frozenset()  # the names that none of them had before
    heirs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # by base, module and name of new classes


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
        self._headers: dict[str, list[tuple[str, list[str]]]] = {}
        self._last = _Found()

    def places(self, name: str, now: Snapshot) -> list[str]:
        """Return the changed modules that define a function or class of a name now."""
        return self._found(now).places.get(name, [])

    def places_before(self, name: str, now: Snapshot) -> list[str]:
        """Return the modules that changed since, or are gone, and defined a function or class of a name."""
        return self._found(now).before.get(name, [])

    def new_names(self, now: Snapshot) -> frozenset[str]:
        """Return the names that none of the modules had before; they differ from those by more than underscores."""
        return self._found(now).new

    def heirs(self, bases: Iterable[str], now: Snapshot) -> Iterator[tuple[str, str]]:
        """Yield module and name of the classes of new names whose headers name one of some bases."""
        for base in bases:
            yield from self._found(now).heirs.get(base, ())

    def alike(self, name: str, now: Snapshot) -> list[tuple[str, str]]:
        """Return the new names, with their modules, that differ from one in case and underscores at most.

        A class may have words before or behind its old name, too, or another last word of three or more.
        """
        found: list[tuple[str, str]] = []
        stem = _STEM.match(name)
        longer = re.compile(rf"_?(?:[A-Z]\w*)?{re.escape(name)}(?:[A-Z0-9_]\w*)?")
        for other in self.new_names(now):
            is_class = name[:1].isupper() and (longer.fullmatch(other) or (stem and _is_of_stem(other, stem[0])))
            if is_class or _plain(other) == _plain(name):
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

    def _found(self, now: Snapshot) -> _Found:
        if self._last.now is not now:
            places, before = self._defining(now, self._base), self._defining(self._base, now)
            known = {name.strip("_") for name in before}
            new = frozenset(name for name in places if name.strip("_") not in known)
            self._last = _Found(now=now, places=places, before=before, new=new, heirs=self._inheriting(new, now))
        return self._last

    def _inheriting(self, new: frozenset[str], now: Snapshot) -> dict[str, list[tuple[str, str]]]:
        """Return the changed modules' classes of new names by each word in their headers; cached by blob."""
        found: dict[str, list[tuple[str, str]]] = {}
        for path in filter(self._pin.place, now.modules_unlike(self._base)):
            for name, words in self._headers_in(path, now):
                if name in new:
                    for word in words:
                        found.setdefault(word, []).append((path, name))
        return found

    def _headers_in(self, path: str, now: Snapshot) -> list[tuple[str, list[str]]]:
        """Return each class of a module with the words in its header, whose text may be code of a string too."""
        blob = now.blob(path)
        if blob not in self._headers:
            headers = _INHERITING.findall(now.read(path))
            self._headers[blob] = [
                (name.decode(), re.findall(r"\w+", bases.decode("utf-8", "replace"))) for name, bases in headers
            ]
        return self._headers[blob]

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


def _is_of_stem(name: str, stem: str) -> bool:
    """Return whether a name is a stem and one word."""
    return name.startswith(stem) and re.fullmatch(r"[A-Z][a-z0-9]+", name.removeprefix(stem)) is not None
