"""Candidates: a definition that is gone → the one elsewhere that it may have become, by likeness.

Only what was not there where the overlay was locked can be what something became. The parameters must be the same and
the code alike; a member stays with its class. What another definition became more likely, and what is as like as
another, is not taken. Imports are not compared: what they are is what they import.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.model.definitions import Definition
from npu_overlays.model.likeness import ENOUGH, Shape, likeness, shape
from npu_overlays.model.module import Module
from npu_overlays.model.parts import parts
from npu_overlays.model.selectors import chosen, leaf_of, owner_of, plain, selector, symbols
from npu_overlays.porting.fitting import Modules
from npu_overlays.porting.revision import Revision

# Code of less, `None` or `return self.x`, says little about which other one it became under another name.
_TELLING = 8
_NEVER = 2.0
# A name that so many files define says nothing about where a method went.
_COMMON = 12
_SHAPED = ("kind", "signature")


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A definition that another may have become.

    Args:
        path: of its file.
        symbol: its qualified name.
        likeness: of the two.
    """

    path: str
    symbol: str
    likeness: float


class Candidates:
    """Looks for definitions by likeness.

    Args:
        base: upstream where the overlay was locked.
        modules: parses.
    """

    def __init__(self, base: Revision, modules: Modules) -> None:
        self._base = base
        self._modules = modules
        self._shapes: dict[tuple[str, str, str], Shape] = {}
        self._known: dict[tuple[str, str, tuple[str, ...]], Candidate | None] = {}

    def best(self, path: str, symbol: str, now: Revision) -> Candidate | None:
        """Return what a definition of the base became in a revision that lacks it; None where that is not known."""
        names = (leaf_of(symbol), owner_of(symbol))
        near = (path, *(one for name in names for one in (*now.defining(name), *self._base.defining(name))))
        key = (path, symbol, tuple(map(now.blob, near)))
        if key not in self._known:
            self._known[key] = self._best(path, symbol, now)
        return self._known[key]

    def _best(self, path: str, symbol: str, now: Revision) -> Candidate | None:
        before = self._one(path, symbol, self._base)
        if before is None:
            return None
        found = sorted(self._alike(path, symbol, before, now), key=lambda one: -one.likeness)
        if not found or (len(found) > 1 and found[0].likeness == found[1].likeness):
            return None
        return None if self._is_another(path, before, found[0], now) else found[0]

    def likeness(self, path: str, symbol: str, now: Revision, other: str, *, there: str = "") -> float:
        """Return how alike a definition of the base is to one of a revision, in the same file or ``there``."""
        one = self._shape(path, symbol, self._base)
        another = self._shape(there or path, other, now)
        return likeness(one, another) if one is not None and another is not None else 0.0

    def _one(self, path: str, symbol: str, revision: Revision) -> Definition | None:
        """Return the one definition of a symbol; what a module only imports, as what left it, is none of its own."""
        module = self._modules.get(revision, path)
        known = chosen(module, symbol) if module is not None else []
        return known[0] if len(known) == 1 and known[0].kind != "import" else None

    def _shape(self, path: str, symbol: str, revision: Revision) -> Shape | None:
        key = (path, revision.blob(path), symbol)
        if key not in self._shapes:
            module, one = self._modules.get(revision, path), self._one(path, symbol, revision)
            if module is None or one is None:
                return None
            self._shapes[key] = shape(module, one)
        return self._shapes[key]

    def _alike(self, path: str, symbol: str, before: Definition, now: Revision) -> Iterator[Candidate]:
        enough = self._enough(path, symbol, before)
        is_function_or_class = before.kind != "attribute"
        for there, module in self._where(path, before.name, now):
            known = self._names_before(there)
            for name in symbols(module):
                if name in known or not _may_be(symbol, name, is_same_file=there == path):
                    continue
                (found,) = chosen(module, name)
                if not _same_form(before, found) or not self._is_of_its_class(path, before, there, name, now):
                    continue
                alike = self.likeness(path, symbol, now, name, there=there)
                if alike >= (ENOUGH if is_function_or_class and leaf_of(name) == leaf_of(symbol) else enough):
                    yield Candidate(path=there, symbol=name, likeness=alike)

    def _enough(self, path: str, symbol: str, before: Definition) -> float:
        """Return how alike what has another name must be: little code wholly, if no other is the same."""
        own, module = self._shape(path, symbol, self._base), self._modules.get(self._base, path)
        if own is None or module is None or own.total() >= _TELLING:
            return ENOUGH
        others = (name for name in symbols(module) if name != symbol)
        is_alone = all(self._shape(path, name, self._base) != own for name in others)
        return 1.0 if is_alone and before.kind != "attribute" else _NEVER

    def _where(self, path: str, symbol: str, now: Revision) -> Iterator[tuple[str, Module]]:
        """Yield the modules something may have gone to: its own, and those that define something so called."""
        leaf = leaf_of(symbol)
        paths = now.defining(leaf)
        is_common = len(paths) > _COMMON
        if is_common:
            outer = symbol.partition(".")[0]
            paths = [one for one in paths if outer != leaf and one in now.defining(outer)]
        # A recipe's copy of a library's class is not what became of it.
        top = f"{path.partition('/')[0]}/"
        for there in dict.fromkeys([path, *(one for one in paths if one.startswith(top))]):
            module = self._modules.get(now, there) if len(paths) <= _COMMON or there == path else None
            if module is not None:
                yield there, module

    def _is_of_its_class(self, path: str, before: Definition, there: str, name: str, now: Revision) -> bool:
        """Return whether the class around a candidate is the one around what it may have been, or what that became."""
        was, owner = before.parent, owner_of(name)
        if not was or not owner:
            return was == owner
        if self._one(path, was, now) is not None:
            return (there, owner) == (path, was)
        if (moved := self.best(path, was, now)) is not None:
            return (there, owner) == (moved.path, moved.symbol)
        return was == owner or self.likeness(path, was, now, owner, there=there) >= ENOUGH

    def _is_another(self, path: str, before: Definition, found: Candidate, now: Revision) -> bool:
        """Return whether something else that is gone is what became a candidate: by its name, or by its likeness."""
        for one in dict.fromkeys([path, *self._base.defining(leaf_of(found.symbol))]):
            for other in self._gone(one, now):
                if (one, other.name) == (path, before.name) or other.kind == "import":
                    continue
                if other.name == found.symbol != before.name:
                    return True
                if one == path or other.name == found.symbol:
                    alike = self.likeness(one, other.name, now, found.symbol, there=found.path)
                    if alike >= found.likeness and _same_form(before, other):
                        return True
        return False

    def _gone(self, path: str, now: Revision) -> Iterator[Definition]:
        before, after = self._modules.get(self._base, path), self._modules.get(now, path)
        for name, known in before.definitions.items() if before is not None else ():
            if len(known) == 1 and (after is None or name not in after.definitions):
                yield known[0]

    def _names_before(self, path: str) -> frozenset[str]:
        module = self._modules.get(self._base, path)
        return frozenset(symbols(module)) if module is not None else frozenset()


def _may_be(was: str, name: str, *, is_same_file: bool) -> bool:
    """Return whether something may have become another: in its own file under any name, elsewhere under its own.

    What leads to one of several definitions must be the same, but for the property's own name.
    """
    if selector(name) != tuple(text.replace(f"@{leaf_of(was)}.", f"@{leaf_of(name)}.") for text in selector(was)):
        return False
    return leaf_of(name) == leaf_of(was) or (is_same_file and plain(name).count(".") == plain(was).count("."))


def _same_form(before: Definition, after: Definition) -> bool:
    one, other = parts(before), parts(after)
    return all(one.get(part) == other.get(part) for part in _SHAPED)
