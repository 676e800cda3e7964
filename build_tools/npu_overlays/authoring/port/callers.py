"""Callers: a definition with a possible new place, and upstream before and now → whether its calls went there alone.

Equal code shows where a text went, and not what is called in its place: upstream may call something new beside it that
does half of the work, or all of it for most users.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import TypeAlias

from npu_overlays.authoring.matcher import COMMON, Matcher
from npu_overlays.authoring.port.logical_lines import Words, names_bound, words_of_lines
from npu_overlays.authoring.port.other_names import is_exchanged, is_kept_for_others
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.errors import listing
from npu_overlays.model import Model, Symbol, model_of
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.fingerprint import fingerprint
from npu_overlays.model.likeness import ENOUGH
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, leaf_of, owner_of
from npu_overlays.model.token_layout import layout_of
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin

_DEFINING = re.compile(rb"\b(?:def|class)[ \t]+(\w+)")
# Lines between a call and what does the rest of its work.
_NEAR = 2
# What a module imports is asked of the model; an index of a package, only for the type checker, is no call.
_IMPORTING = frozenset({"from", "import"})
# The most names in a question.
_SHOWN = 6
_Places: TypeAlias = dict[str, list[str]]


@dataclass(frozen=True, kw_only=True)
class Use:
    """A function of the base that names an operation's target, or the own lines of a class or module."""

    module: Module
    name: str  # empty for the module's own lines
    lines: list[Words]  # its logical lines


@dataclass(frozen=True, kw_only=True)
class Caller:
    """A function that names an operation's target, or the own lines of a class or module, before and now."""

    was: str  # the path of its module before
    path: str  # and now
    name: str  # empty for the module's own lines
    lines: tuple[list[Words], list[Words]]  # its logical lines before and now

    def __str__(self) -> str:
        return f"{self.path}:{self.name}" if self.name else self.path

    def added_for(self, old: str, new: str) -> Iterator[Words]:
        """Yield its new lines that may do a part of what it called under an old name, and now calls under a new one.

        They stand beside the call, or in its place, or use its result. Other new lines of a long function do not count.
        """
        before, now = self.lines
        was = [tuple(new if word == old else word for word in line) for line in before]
        calls = [number for number, line in enumerate(now) if new in line]
        results = frozenset[str]().union(*(names_bound(now[number]) for number in calls))
        for tag, start, end, first, behind in difflib.SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            is_without = any(new in line for line in was[start:end]) and not any(
                new in line for line in now[first:behind]
            )
            if tag == "equal":
                continue
            for number in range(first, behind):
                line = now[number]
                is_near = is_without or any(abs(number - one) <= _NEAR for one in calls)
                is_in_place = any(_is_same_but_for(new, one, line) for one in was if new in one)
                if line[0] != "raise" and (is_near or is_in_place or not results.isdisjoint(line)):
                    yield line

    def is_same_but_for(self, old: str, new: str) -> bool:
        """Return whether a name in it became another one, and nothing else changed."""
        before, now = self.lines
        was = [tuple(new if word == old else word for word in line) for line in before]
        return before != was == now


class Callers:
    """Looks at what the callers of an operation's target call now.

    Args:
        base: upstream where the overlay was locked.
        matcher: finds its definitions again.
        pin: says which paths are shipped.
        has_successor: whether something may do the work of a missing definition.
    """

    def __init__(
        self, base: Snapshot, matcher: Matcher, pin: Pin, has_successor: Callable[[Operation, Snapshot], bool]
    ) -> None:
        self._base = base
        self._matcher = matcher
        self._pin = pin
        self._has_successor = has_successor
        self._model = model_of(pin, base)
        self._known: dict[tuple[str, str], list[str]] = {}
        self._heirs: dict[Symbol, list[Symbol]] = {}
        self._last: tuple[Snapshot | None, _Places, frozenset[str]] = (None, {}, frozenset())
        self._last_model: tuple[Snapshot | None, Model] = (None, self._model)

    def objection(self, operation: Operation, wanted: Operation, now: Snapshot, *, is_renamed: bool) -> str:
        """Return the question that the callers leave open about a new target; empty if there is none.

        Where name and code changed, a caller has to show that the new definition replaces the old one.
        """
        module = now.module(operation.path)
        if operation.action == "edited" and module and chosen(module, operation.symbol):
            return ""  # A part of the code moved, and the target calls that.
        old, new = (one.name.partition(".")[0] for one in (operation, wanted))
        if module and is_kept_for_others(module, old, new):
            return f"whether upstream itself uses `{new}`: `{old}` is only handed out to those who still name it"
        callers = list(self._callers(operation, wanted, now))
        for one in callers:
            if others := self._others(one, operation, wanted, now):
                return (
                    f"whether `{others[0]}`, which its caller `{one.name or one.path}` calls now, needs the change, too"
                )
        before = self._base.definition(operation.path, operation.symbol)
        after = now.definition(wanted.path, wanted.symbol)
        is_same = before and after and is_exchanged(before, after, operation.leaf, wanted.leaf)
        if not is_renamed or is_same or any(one.is_same_but_for(operation.leaf, wanted.leaf) for one in callers):
            return ""
        why = "it is other code, and no caller changed in the name alone"
        return f"whether `{wanted.symbol}` does all of its work: {why}"

    def are_gone_to(self, operation: Operation, wanted: Operation, now: Snapshot) -> bool:
        """Return whether a caller of an operation's target calls another definition now."""
        return any(wanted.leaf in _words(one.lines[1]) for one in self._callers(operation, wanted, now))

    def question(self, operation: Operation, now: Snapshot) -> str:
        """Return the question that a missing definition, or its missing class, leaves open; empty if there is none.

        Its users have another definition of that name now, its heirs have the member from elsewhere, or its callers
        have new code in place of a call.
        """
        is_in_class = now.has_class(operation.path, operation.owner)
        gone = operation if is_in_class or not operation.owner else replace(operation, symbol=operation.owner)
        found = [*self._namesakes(gone, now), *(() if is_in_class else self._of_heirs(operation, now))]
        if found:
            return f"whether {listing((f'`{one}`' for one in dict.fromkeys(found)), _SHOWN)} needs the change, too"
        replacing = list(dict.fromkeys(self._replacing(operation, now, set())))
        return f"whether what {listing(replacing, _SHOWN)} has in its place needs the change" if replacing else ""

    def _replacing(self, operation: Operation, now: Snapshot, known: set[tuple[str, str]]) -> Iterator[str]:
        """Yield the callers of a missing definition that have something in its place; of missing callers, theirs.

        Args:
            operation: its target is missing; where its class is, that has callers, too.
            now: upstream now.
            known: the places that need not be looked at again.
        """
        is_class_gone = operation.owner and not now.has_class(operation.path, operation.owner)
        for gone in (operation, *([replace(operation, symbol=operation.owner)] if is_class_gone else [])):
            known.add((gone.path, gone.name))
            for use in self._uses(gone, now):
                path, name = use.module.path, use.name
                if path == gone.path and name.startswith(f"{gone.name}."):
                    continue
                found = self._now(use, gone, gone, now) or self._merged(use, now)
                for one in found:
                    # Under that name it calls something else now.
                    if gone.leaf in _words(one.lines[1]) or any(one.added_for(gone.leaf, gone.leaf)):
                        yield str(one)
                caller = replace(gone, path=path, symbol=name)
                if name and not found and self._has_successor(caller, now):
                    yield f"{path}:{name}"
                elif name and not found and (path, name) not in known:
                    yield from self._replacing(caller, now, known)

    def merged_into(self, path: str, now: Snapshot) -> list[str]:
        """Return the files that were there in which definitions of a missing file stand now under their names."""
        module = self._base.module(path) if path not in now else None
        names = module.definitions if module else ()
        found: list[str] = []
        for name in names:
            for there in self._changed(now)[0].get(name, [])[:COMMON]:
                is_new = there in self._base and not self._base.definition(there, name)
                if is_new and self._matcher.likeness(path, name, now, name, there=there) >= ENOUGH:
                    found.append(there)
        return list(dict.fromkeys(found))

    def _namesakes(self, gone: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the other definitions for which a missing one's name stands where it stood for that."""
        if gone.owner:
            return
        for there in self._importing(gone.path, gone.name):
            is_possible = there in now and now.blob(there) != self._base.blob(there)
            if is_possible and gone.name.encode() in now.read(there):
                for target in self._model_now(now).resolver.found(there, gone.name, follow=True):
                    if isinstance(target, Symbol) and target != Symbol(gone.path, gone.name):
                        yield f"{target.path}:{target.name}"

    def _of_heirs(self, operation: Operation, now: Snapshot) -> Iterator[str]:
        """Yield the members that heirs of a missing class have now, themselves or from a base, and had not."""
        gone = Symbol(operation.path, operation.owner)
        if not operation.owner:
            return
        if gone not in self._heirs:
            self._heirs[gone] = list(self._model.classes.heirs(gone))
        for heir in self._heirs[gone]:
            if not now.definition(*heir):
                continue
            known = self._model.classes.line(heir)
            for one in self._model_now(now).classes.line(heir):
                member = one.member(operation.leaf)
                was, there = self._base.definition(*member), now.definition(*member)
                is_known = one in known and was and there and fingerprint(was.node) == fingerprint(there.node)
                if there and not is_known:
                    yield f"{member.path}:{member.name}"

    def _model_now(self, now: Snapshot) -> Model:
        """Return the model of a snapshot; that of the last one is kept."""
        if self._last_model[0] is not now:
            self._last_model = now, model_of(self._pin, now)
        return self._last_model[1]

    def _callers(self, operation: Operation, wanted: Operation, now: Snapshot) -> Iterator[Caller]:
        """Yield the functions, and the own lines of classes and modules, that named a target and are still there."""
        for use in self._uses(operation, now):
            yield from self._now(use, operation, wanted, now)

    def _uses(self, operation: Operation, now: Snapshot) -> Iterator[Use]:
        """Yield what named a target in files that changed.

        It is of its class; for a function, of its file and of those that import the name: any other object may have an
        attribute of that name.
        """
        others = [] if operation.owner else self._importing(operation.path, operation.name)
        for path in (operation.path, *others):
            module = self._base.module(path) if now.blob(path) != self._base.blob(path) else None
            if module is None:
                continue
            names = [] if operation.owner else [""]
            for name, (one, *more) in module.definitions.items():
                is_own = path == operation.path and name == operation.name
                is_near = not operation.owner or operation.owner in (one.parent, name)
                if one.kind in ("function", "class") and is_near and not is_own and not more:
                    names.append(name)
            found = (Use(module=module, name=name, lines=_lines(module, name)) for name in names)
            yield from (use for use in found if operation.leaf in _words(use.lines))

    def _now(self, use: Use, operation: Operation, wanted: Operation, now: Snapshot) -> list[Caller]:
        """Return a caller where it is now; if it is missing, what has its name in other files and had not."""
        name = use.name
        along = wanted.owner if name == operation.owner else f"{wanted.owner}.{leaf_of(name)}"
        beside = [self._in_its_class(use, now), (wanted.path, along if operation.owner else name)]
        found = [one for one in beside if _is_there(*one, now)][:1]
        if not found:
            paths = self._changed(now)[0].get(name.partition(".")[0], [])
            own = use.module.path
            found = [(path, name) for path in paths[:COMMON] if self._matcher.is_new(own, name, now, name, there=path)]
        return [_caller(use, path, symbol, now) for path, symbol in found]

    def _merged(self, use: Use, now: Snapshot) -> list[Caller]:
        """Return the functions that have the lines of a missing one now, beside it or in its class's new place."""
        path, symbol = self._in_its_class(use, now)
        was, parent, after = owner_of(use.name), owner_of(symbol), now.module(path)
        found: list[Caller] = []
        definitions = after.definitions if after else {}
        for name, (one, *others) in definitions.items():
            if one.kind != "function" or others or one.parent != parent:
                continue
            caller, known = _caller(use, path, name, now), name.replace(parent, was, 1)
            gained = Counter(caller.lines[1])
            if len(use.module.definitions.get(known, ())) == 1:
                gained -= Counter(_lines(use.module, known))
            if 2 * (gained & Counter(use.lines)).total() >= len(use.lines):
                found.append(caller)
        return found

    def _in_its_class(self, use: Use, now: Snapshot) -> tuple[str, str]:
        """Return the place where a class is now, or where a function would be that is in its class still."""
        path, name = use.module.path, use.name
        is_class = name and use.module.definitions[name][0].kind == "class"
        owner = name if is_class else owner_of(name)
        if not owner or now.has_class(path, owner):
            return path, name
        found = self._matcher.match(path, owner, now)
        return found.path, name.replace(owner, found.symbol, 1)

    def _importing(self, path: str, name: str) -> list[str]:
        """Return the shipped modules of the base in which a name stands for that of another module."""
        if (path, name) not in self._known:
            found: list[str] = []
            for there in self._base.entries:
                is_shipped = there.endswith(".py") and there != path and self._pin.place(there)
                is_possible = is_shipped and name.encode() in self._base.read(there)
                if is_possible and (self._imports(there, path, name) or self._has_attribute(there, path, name)):
                    found.append(there)
            self._known[path, name] = found
        return self._known[path, name]

    def _imports(self, there: str, path: str, name: str) -> bool:
        return Symbol(path, name) in self._model.resolver.found(there, name, follow=True)

    def _has_attribute(self, there: str, path: str, name: str) -> bool:
        """Return whether a module names a definition of another one as an attribute of that."""
        content, home = self._base.read(there), self._model.modules.name(path).rpartition(".")[2]
        # To parse every module that has a common word is slow.
        is_named = f".{name}".encode() in content and home.encode() in content
        text = self._model.modules.text(there) if is_named else None
        if text is None:
            return False
        for node in text.nodes:
            if not isinstance(node, ast.Attribute) or node.attr != name:
                continue
            if Symbol(path, name) in self._model.resolver.anywhere(there, node):
                return True
        return False

    def _others(self, caller: Caller, operation: Operation, wanted: Operation, now: Snapshot) -> list[str]:
        """Return what a caller names that is new, beside the new target: functions and classes.

        What only has a new name does not count, nor does what is raised.
        """
        leaves = operation.leaf, wanted.leaf
        added = list(caller.added_for(*leaves))
        named = _words(added) - {*wanted.name.split(".")}
        if not named:
            return []
        paths = (caller.path, operation.path, wanted.path)
        known: set[str] = set()
        for module in filter(None, map(self._base.module, (caller.was, *paths))):
            known.update(map(leaf_of, module.definitions))
        others = named & _defined(map(now.module, paths))
        called = {word for line in added for word, following in pairwise(line) if following == "("}
        # One of several uses may name something new without a call.
        uses = [sum(line.count(leaf) for line in lines) for lines, leaf in zip(caller.lines, leaves, strict=True)]
        others |= (named if uses[0] > uses[1] else named & called) & self._changed(now)[1]
        others -= known
        return sorted(others - self._renamed(operation.path, now)) if others else []

    def _changed(self, now: Snapshot) -> tuple[_Places, frozenset[str]]:
        """Return which changed modules define a function or class of each name, and the names that none of them had.

        Names of the latter differ by more than underscores. Those of the last snapshot are kept.
        """
        if self._last[0] is not now:
            places, before = self._defining(now, self._base), self._defining(self._base, now)
            known = {name.strip("_") for name in before}
            self._last = now, places, frozenset(name for name in places if name.strip("_") not in known)
        return self._last[1:]

    def _defining(self, one: Snapshot, other: Snapshot) -> _Places:
        """Return the shipped modules of a snapshot that define each name, of those that differ in another one."""
        found: _Places = {}
        for path in one.entries:
            if path.endswith(".py") and one.blob(path) != other.blob(path) and self._pin.place(path):
                for name in dict.fromkeys(_DEFINING.findall(one.read(path))):
                    found.setdefault(name.decode(), []).append(path)
        return found

    def _renamed(self, path: str, now: Snapshot) -> set[str]:
        """Return the names that missing definitions of a module have now."""
        module, found = self._base.module(path), set[str]()
        names = module.definitions if module else ()
        for name in names:
            match = self._matcher.match(path, name, now)
            if match.is_elsewhere:
                found.add(leaf_of(match.symbol))
        return found


def _caller(use: Use, path: str, name: str, now: Snapshot) -> Caller:
    """Return what named a target in the place where it is now."""
    module = now.module(path)
    return Caller(was=use.module.path, path=path, name=name, lines=(use.lines, _lines(module, name) if module else []))


def _is_there(path: str, name: str, now: Snapshot) -> bool:
    """Return whether a module has one definition of a name; without a name, whether it can be read."""
    return now.module(path) is not None and (not name or now.definition(path, name) is not None)


def _defined(modules: Iterable[Module | None]) -> set[str]:
    """Return the names of the functions and classes of some modules."""
    found: set[str] = set()
    for module in filter(None, modules):
        for name, known in module.definitions.items():
            if any(one.kind in ("function", "class") for one in known):
                found.add(leaf_of(name))
    return found


def _lines(module: Module, name: str) -> list[Words]:
    """Return the logical lines of a function, or the own ones of a class or, without a name, of its module.

    Their docstrings and, outside of functions, their imports do not count.
    """
    node = module.definitions[name][0].node if name else module.tree
    texts: list[str] = []
    if isinstance(node, ast.ClassDef):
        head = ast.ClassDef(node.name, node.bases, node.keywords, [ast.Pass()], node.decorator_list)
        texts.append(ast.unparse(ast.fix_missing_locations(head)))
    if isinstance(node, (ast.ClassDef, ast.Module)):
        own = (one for one in node.body if not isinstance(one, (*FUNCTIONS, ast.ClassDef)))
        texts += (module.whole_text(one).decode() for one in own)
    else:
        texts.append(module.whole_text(node).decode())
    skipped = frozenset() if isinstance(node, FUNCTIONS) else _IMPORTING
    lines = chain.from_iterable(words_of_lines(layout_of(text)) for text in texts)
    return [line for line in lines if line and line[0] not in skipped and (len(line) > 1 or line[0][-1] not in "\"'")]


def _is_same_but_for(name: str, one: Words, other: Words) -> bool:
    """Return whether a line has something else only where another one has a name."""
    return len(one) == len(other) and all(word in (there, name) for word, there in zip(one, other, strict=True))


def _words(lines: list[Words]) -> set[str]:
    return {word for line in lines for word in line}
