"""Renamed names: a module before and now → the attributes and module-level names that have another name now.

Syntax proves it if every statement with the old name, in each definition that both versions have, is the same but for
such names. A function's parameters are compared in `signature_changes`.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from npu_overlays.authoring.port.logical_lines import Words, names_bound, words_of_lines
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.model.syntax import all_of, is_name
from npu_overlays.model.token_layout import layout_of

# A name of a function's own, of the module, of an object, or one that the operation imports itself.
Role: TypeAlias = Literal["parameter", "global", "attribute", "import"]
# The number of a call's arguments by position, and its keywords; None if it has stars.
CallShape: TypeAlias = tuple[int, frozenset[str]] | None
_Name: TypeAlias = tuple[Role, str]


@dataclass(frozen=True, kw_only=True)
class RenamedName:
    """A name of upstream's, and the one that it has now.

    Args:
        old: the name before.
        new: the name now; a likely one if there is a problem; of an import the new statement.
        role: what it names.
        problem: why syntax does not prove it; empty if it does.
        shapes: of upstream's calls by the new name.
    """

    old: str
    new: str
    role: Role
    problem: str = ""
    shapes: frozenset[CallShape] = frozenset()

    def __str__(self) -> str:
        return f"`{self.old}` is {'imported by ' if self.role == 'import' else ''}`{self.new}` now"


@dataclass(frozen=True, kw_only=True)
class _Version:
    """One version of a module, and its names by their roles."""

    module: Module

    @cached_property
    def names(self) -> frozenset[_Name]:
        """The names that it binds or reads."""
        found: set[_Name] = {("global", name) for name in self.module.scopes.global_loads}
        found.update(("attribute", one.attr) for one in all_of(self.module.tree, ast.Attribute))
        for name in self.module.definitions:
            found.add(("attribute" if owner_of(name) else "global", leaf_of(name)))
        return frozenset(found)

    @cached_property
    def texts(self) -> frozenset[str]:
        """The words of its strings that may name something, as in `getattr`: those without white space."""
        found: set[str] = set()
        for one in all_of(self.module.tree, ast.Constant):
            if isinstance(one.value, str) and not re.search(r"\s", one.value):
                found.update(re.findall(r"\w+", one.value))
        return frozenset(found)

    def lines(self, symbol: str) -> list[Words]:
        """Return the logical lines of the definitions of a symbol, of a class those of its head; none of imports."""
        found: list[Words] = []
        for one in self.module.definitions.get(symbol, ()):
            found += words_of_lines(layout_of(self._text(one))) if one.kind != "import" else []
        return found

    def _text(self, one: Definition) -> str:
        if not isinstance(one.node, ast.ClassDef):
            return self.module.whole_text(one.node).decode()
        decorators = [f"@{self.module.text(node)}\n" for node in one.node.decorator_list]
        return "".join([*decorators, self.module.head(one.node)])

    def is_defined(self, name: str) -> bool:
        """Return whether one statement defines a name of the module, and always does."""
        known = self.module.definitions.get(name, [])
        return len(known) == 1 and known[0].is_certain and not self.module.other_bindings(name)


class RenamedNames:
    """The renamed names of one module.

    Args:
        before: the module where the overlay was locked.
        now: the same module now.
    """

    def __init__(self, before: Module, now: Module) -> None:
        self._was, self._now = (_Version(module=module) for module in (before, now))
        self.gone = self._was.names - self._now.names
        self._new = self._now.names - self._was.names

    def of(self, old: str, role: Role) -> RenamedName | None:
        """Return the name that a name has now; None if no statement shows one."""
        new = self._likely.get((role, old))
        if new is None:
            return None
        problem = next(self._problems(old, new, role), "")
        return RenamedName(old=old, new=new, role=role, problem=problem, shapes=_shapes(self._now.module, new))

    def explaining(self, symbol: str) -> list[RenamedName]:
        """Return the renamed names by which the definitions of a symbol changed; none if syntax does not prove all."""
        names: set[_Name] = set()
        for line in self._was.lines(symbol):
            names.update(name for _, name in _places(line, symbol, self._likely.keys()))
        found = [self.of(old, role) for role, old in sorted(names)]
        proven = [one for one in found if one and not one.problem]
        return proven if len(proven) == len(found) and self._renamed(symbol) == self._now.lines(symbol) else []

    @cached_property
    def _likely(self) -> Mapping[_Name, str]:
        """The likely new name of each that is gone: the one that most lines have in its place."""
        found: dict[_Name, Counter[str]] = {}
        for symbol in self._shared:
            for name, new in self._exchanged(symbol):
                found.setdefault(name, Counter())[new] += 1
        return {name: counted.most_common(1)[0][0] for name, counted in found.items()}

    @cached_property
    def _shared(self) -> list[str]:
        """The definitions with a name that is gone, of the same name in both versions or by a name that is gone."""
        gone, found = frozenset(name for _, name in self.gone), list[str]()
        for symbol in self._was.module.definitions:
            if any(not gone.isdisjoint(line) for line in self._was.lines(symbol)):
                found.append(symbol)
        return found

    def _exchanged(self, symbol: str) -> Iterator[tuple[_Name, str]]:
        """Yield the names that are gone in a definition, each with the one that a line has instead, otherwise equal."""
        now = self._now.lines(symbol)
        for line in self._was.lines(symbol):
            places = dict(_places(line, symbol, self.gone))
            alike = [other for other in now if _without(other, places) == _without(line, places)] if places else []
            for other in alike:
                pairs = [(name, other[at]) for at, name in places.items()]
                if all((role, new) in self._new for (role, _), new in pairs):
                    yield from pairs
                    break

    def _problems(self, old: str, new: str, role: Role) -> Iterator[str]:
        """Yield the reasons why a name does not, or may not, have another name now."""
        if old in self._now.texts:
            yield f"upstream still has `{old}` in a text"
        if new in self._was.texts:
            yield f"`{new}` was there before"
        others = [name for name, there in self._likely.items() if there == new and name[0] == role]
        if len(others) > 1:
            yield f"so may be {' and '.join(f'`{name}`' for _, name in others if name != old)}"
        shared: list[Words] = []
        for symbol in self._shared:
            kept = self._kept(symbol, (role, old))
            if kept is None:
                yield f"`{symbol}` changed in more than names"
            shared += kept or []
        bound = [line for line in shared if new in names_bound(line)]
        if role == "global" and not (self._was.is_defined(old) and self._now.is_defined(new)):
            yield "more than one statement defines one of them, or under a condition"
        elif role == "attribute" and not bound:
            yield f"no method assigns `{new}` where it assigned `{old}`"
        if not any(line.count(new) > (line in bound) for line in shared):
            yield f"no statement reads `{new}` where it read `{old}`"

    def _kept(self, symbol: str, name: _Name) -> list[Words] | None:
        """Return the lines of a definition that had a name, with the new names; None if one is not there now.

        A global is not compared with itself: what its readers see is recorded in locks.
        """
        there = self._moved(symbol)
        if name == ("global", symbol) or there not in self._now.module.definitions:
            return []
        wanted = self._renamed(symbol)
        changed: list[int] = []
        for number, line in enumerate(self._was.lines(symbol)):
            if any(True for _ in _places(line, symbol, {name})):
                changed.append(number)
        matching: set[int] = set()
        for block in difflib.SequenceMatcher(
            None, wanted, self._now.lines(there), autojunk=False
        ).get_matching_blocks():
            matching.update(range(block.a, block.a + block.size))
        return [wanted[number] for number in changed] if matching.issuperset(changed) else None

    def _moved(self, symbol: str) -> str:
        """Return a symbol by the likely new names of its parts."""
        first, *rest = symbol.split(".")
        parts = [self._likely.get(("global", first), first)]
        return ".".join([*parts, *(self._likely.get(("attribute", part), part) for part in rest)])

    def _renamed(self, symbol: str) -> list[Words]:
        """Return the lines of an old definition with the likely new names."""
        found: list[Words] = []
        for line in self._was.lines(symbol):
            new = {at: self._likely[name] for at, name in _places(line, symbol, self._likely.keys())}
            found.append(tuple(new.get(at, word) for at, word in enumerate(line)))
        return found


def _places(line: Words, symbol: str, names: Collection[_Name]) -> Iterator[tuple[int, _Name]]:
    """Yield the words of a definition's line that are some names in their roles."""
    for number, word in enumerate(line):
        before = line[number - 1] if number else ""
        is_member = bool(owner_of(symbol)) and leaf_of(symbol) == word and before in ("", "def", "class")
        role: Role = "attribute" if before == "." or is_member else "global"
        if (role, word) in names:
            yield number, (role, word)


def _without(line: Words, places: Collection[int]) -> Words:
    return tuple("" if number in places else word for number, word in enumerate(line))


def _shapes(module: Module, name: str) -> frozenset[CallShape]:
    """Return the shapes of the calls of a name of a module."""
    return frozenset(call_shape(call) for call in all_of(module.tree, ast.Call) if is_name(call.func, name))


def call_shape(call: ast.Call) -> CallShape:
    """Return how many arguments a call has by position, and its keywords; None if it has stars."""
    keywords = [one.arg for one in call.keywords]
    if any(isinstance(one, ast.Starred) for one in call.args) or not all(keywords):
        return None
    return len(call.args), frozenset(filter(None, keywords))
