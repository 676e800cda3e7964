"""The matcher: a definition in one snapshot of a tree → what happened to it in another: kept, changed, moved or gone.

Only what did not exist before can be where a definition went. Its parameters must be the same and its code alike, and
a member stays with its class. Nothing matches if another definition that is gone matches better, or if two candidates
are equally alike. Imports are not compared: what they are is what they import.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.model.definition_fields import form_fields
from npu_overlays.model.definitions import FUNCTIONS, Definition
from npu_overlays.model.fingerprint import fingerprint
from npu_overlays.model.likeness import ENOUGH, TokenPairs, likeness, token_pairs
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import leaf_of, owner_of, plain, selector, symbols

Outcome: TypeAlias = Literal["unchanged", "changed", "renamed", "moved", "removed"]
# Code shorter than that, `None` or `return self.x`, identifies nothing under another name.
_TELLING = 8
_NEVER = 2.0
# Lines below which a function's body says less of where it went than its name and parameters.
_SHORT = 3
# A name that so many files define says nothing about where a method went.
COMMON = 12


@dataclass(frozen=True, kw_only=True)
class Match:
    """What happened to a definition."""

    outcome: Outcome  # in one word; ``renamed`` stays in its file and class
    path: str  # the file it is in now; the old one if it was removed
    symbol: str  # its qualified name now, likewise
    likeness: float = 1.0  # of the two definitions' code, from 0 to 1

    @property
    def is_elsewhere(self) -> bool:
        """Whether it has another name or place."""
        return self.outcome in ("renamed", "moved")


class Matcher:
    """Finds the definitions of a base snapshot in others; answers are cached by the files they depend on."""

    def __init__(self, base: Snapshot) -> None:
        self._base = base
        self._shapes: dict[tuple[str, str, str], TokenPairs] = {}
        self._likenesses: dict[tuple[str, ...], float] = {}
        self._known: dict[tuple[str, str, tuple[str, ...]], Match] = {}

    def match(self, path: str, symbol: str, now: Snapshot) -> Match:
        """Return what happened to a definition."""
        near = {path: None}
        for name in (leaf_of(symbol), owner_of(symbol)):
            near |= dict.fromkeys([*now.defining(name), *self._base.defining(name)])
        key = (path, symbol, tuple(map(now.blob, near)))
        if key not in self._known:
            self._known[key] = self._match(path, symbol, now)
        return self._known[key]

    def _match(self, path: str, symbol: str, now: Snapshot) -> Match:
        before, after = self._base.definition(path, symbol), now.definition(path, symbol)
        removed = Match(outcome="removed", path=path, symbol=symbol, likeness=0.0)
        if before is None:
            return removed
        if after is not None and after.kind == before.kind:
            is_same = fingerprint(before.node) == fingerprint(after.node)
            alike = self.likeness(path, symbol, now, symbol)
            return Match(outcome="unchanged" if is_same else "changed", path=path, symbol=symbol, likeness=alike)
        return self.successor(path, symbol, now) or removed

    def successor(self, path: str, symbol: str, now: Snapshot) -> Match | None:
        """Return the new definition that has most of the code of one that may still be there; None if none has."""
        before = self._base.definition(path, symbol)
        candidates = self._candidates(path, symbol, before, now) if before else ()
        found = sorted(candidates, key=lambda one: -one.likeness)
        if not before or not found or (len(found) > 1 and found[0].likeness == found[1].likeness):
            return None
        return None if self._has_better_origin(path, before, found[0], now) else found[0]

    def namesakes(self, path: str, symbol: str, now: Snapshot) -> list[Match]:
        """Return the new definitions that have the name of one and most of its code, which no other had."""
        before = self._base.definition(path, symbol)
        if before is None:
            return []
        found = self._candidates(path, symbol, before, now)
        alike = [one for one in found if leaf_of(one.symbol) == leaf_of(symbol)]
        return [one for one in alike if not self._has_better_origin(path, before, one, now)]

    def likeness(self, path: str, symbol: str, now: Snapshot, other: str, *, there: str = "") -> float:
        """Return how alike a definition of the base is to one of a snapshot, in the same file or ``there``."""
        there = there or path
        key = (path, symbol, there, other, now.blob(there))
        if key not in self._likenesses:
            one, another = self._shape(path, symbol, self._base), self._shape(there, other, now)
            self._likenesses[key] = likeness(one, another) if one is not None and another is not None else 0.0
        return self._likenesses[key]

    def is_new(self, path: str, symbol: str, now: Snapshot, other: str, *, there: str) -> bool:
        """Return whether a definition was not there before, or in another file became like one of the base."""
        if now.definition(there, other) is None or self._base.definition(there, other) is None:
            return now.definition(there, other) is not None
        alike = self.likeness(path, symbol, now, other, there=there) if there != path else 0.0
        return alike >= ENOUGH and alike > self.likeness(path, symbol, self._base, other, there=there)

    def _shape(self, path: str, symbol: str, snapshot: Snapshot) -> TokenPairs | None:
        key = (path, snapshot.blob(path), symbol)
        if key not in self._shapes:
            module, one = snapshot.module(path), snapshot.definition(path, symbol)
            if module is None or one is None:
                return None
            self._shapes[key] = token_pairs(module, one)
        return self._shapes[key]

    def _candidates(self, path: str, symbol: str, before: Definition, now: Snapshot) -> Iterator[Match]:
        renamed_threshold = self._threshold(path, symbol, before)
        for there, module in self._searched(path, before.name, now):
            known = self._base.module(there)
            earlier = frozenset(symbols(known)) if known else frozenset()
            for name in symbols(module):
                if name in earlier or not _is_name_possible(symbol, name, is_same_file=there == path):
                    continue
                found = now.definition(there, name)
                if found is None or not _has_same_form(before, found):
                    continue
                if not self._is_in_its_class(path, before, there, name, now):
                    continue
                alike = self.likeness(path, symbol, now, name, there=there)
                keeps_name = before.kind != "attribute" and leaf_of(name) == leaf_of(symbol)
                if alike >= (ENOUGH if keeps_name else renamed_threshold):
                    is_beside = (path, before.parent) == (there, owner_of(name))
                    outcome: Outcome = "renamed" if is_beside else "moved"
                    yield Match(outcome=outcome, path=there, symbol=name, likeness=alike)

    def _threshold(self, path: str, symbol: str, before: Definition) -> float:
        """Return how alike code under another name must be: short code the same, and unique in its old module."""
        own, module = self._shape(path, symbol, self._base), self._base.module(path)
        if own is None or module is None:
            return ENOUGH
        least = _least_likeness(own, before)
        if least == 1.0:
            for name in symbols(module):
                if name != symbol and self._shape(path, name, self._base) == own:
                    return _NEVER
        return least

    def _searched(self, path: str, symbol: str, now: Snapshot) -> Iterator[tuple[str, Module]]:
        """Yield the modules to search: the own one, and those of the same package that define the name."""
        leaf = leaf_of(symbol)
        paths = now.defining(leaf)
        if len(paths) > COMMON:
            outer = symbol.partition(".")[0]
            outside = frozenset(now.defining(outer)) if outer != leaf else frozenset()
            paths = list(filter(outside.__contains__, paths))
        top = f"{path.partition('/')[0]}/"
        # A recipe's copy of a library's class is not where that went.
        others = [one for one in paths if one.startswith(top)] if len(paths) <= COMMON else []
        for there in dict.fromkeys([path, *others]):
            module = now.module(there)
            if module is not None:
                yield there, module

    def _is_in_its_class(self, path: str, before: Definition, there: str, name: str, now: Snapshot) -> bool:
        """Return whether the class around a candidate is the one around the definition, wherever that is now."""
        was, owner = before.parent, owner_of(name)
        if not was or not owner:
            return was == owner
        if now.has_class(path, was):
            return (there, owner) == (path, was)
        around = self.match(path, was, now)
        if around.is_elsewhere:
            return (there, owner) == (around.path, around.symbol)
        return was == owner or self.likeness(path, was, now, owner, there=there) >= ENOUGH

    def _has_better_origin(self, path: str, before: Definition, found: Match, now: Snapshot) -> bool:
        """Return whether something else that is gone is what became a candidate: by its name, or by its likeness."""
        leaf = leaf_of(found.symbol)
        defining = self._base.defining(leaf)
        is_telling = len(defining) <= COMMON
        for origin in dict.fromkeys([path, *defining]):
            for other in self._gone(origin, now):
                is_itself = (origin, other.name) == (path, before.name)
                if is_itself or other.kind == "import":
                    continue
                if other.name == found.symbol != before.name:
                    return True
                is_namesake = other.name == found.symbol or (is_telling and leaf_of(other.name) == leaf)
                if origin == path or is_namesake:
                    alike = self.likeness(origin, other.name, now, found.symbol, there=found.path)
                    if alike >= found.likeness and _has_same_form(before, other):
                        return True
        return False

    def _gone(self, path: str, now: Snapshot) -> Iterator[Definition]:
        """Yield the definitions of a module, each the only one of its name, whose names it has no more."""
        before, after = self._base.module(path), now.module(path)
        if before is None:
            return
        for name, known in before.definitions.items():
            there = after.definitions.get(name, ()) if after else ()
            if len(known) == 1 and all(one.kind != known[0].kind for one in there):
                yield known[0]


def is_alike_elsewhere(module: Module, before: Definition, other: Module, after: Definition) -> bool:
    """Return whether a definition may be another one, renamed or moved.

    Unlike a match, this needs neither the same parameters nor a unique candidate. A short function that keeps its name
    and parameters counts with any body: of two lines, one change leaves too little to compare.
    """
    if before.kind != after.kind:
        return False
    one, another = token_pairs(module, before), token_pairs(other, after)
    keeps_name = before.kind != "attribute" and leaf_of(before.name) == leaf_of(after.name)
    if keeps_name and _is_short_with_parameters_of(before.node, after.node):
        return True
    return likeness(one, another) >= (ENOUGH if keeps_name else _least_likeness(one, before))


def _is_short_with_parameters_of(before: ast.stmt, after: ast.stmt) -> bool:
    """Return whether two short functions have the same parameters."""
    if not isinstance(before, FUNCTIONS) or not isinstance(after, FUNCTIONS):
        return False
    is_short = (before.end_lineno or before.lineno) - before.lineno < _SHORT
    return is_short and ast.dump(before.args) == ast.dump(after.args)


def _least_likeness(code: TokenPairs, definition: Definition) -> float:
    """Return how alike code under another name must be: short code the same, and a short value never is enough."""
    if code.total() >= _TELLING:
        return ENOUGH
    return _NEVER if definition.kind == "attribute" else 1.0


def _is_name_possible(was: str, name: str, *, is_same_file: bool) -> bool:
    """Return whether a definition may have that name now: any in its own file and depth, elsewhere only its own.

    What selects one of several definitions must be the same, apart from the property's own name.
    """
    selecting = []
    for text in selector(was):
        selecting.append(text.replace(f"@{leaf_of(was)}.", f"@{leaf_of(name)}."))
    if selector(name) != tuple(selecting):
        return False
    return leaf_of(name) == leaf_of(was) or (is_same_file and plain(name).count(".") == plain(was).count("."))


def _has_same_form(before: Definition, after: Definition) -> bool:
    return form_fields(before) == form_fields(after)
