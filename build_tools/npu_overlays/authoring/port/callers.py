"""Callers: upstream before and now → the functions that name an operation's target, and their lines in both."""

from __future__ import annotations

import ast
import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

from npu_overlays.authoring.matcher import COMMON, Matcher
from npu_overlays.authoring.port.changed_definitions import ChangedDefinitions
from npu_overlays.authoring.port.logical_lines import Words, names_bound, words_of_lines
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.model import Model, Symbol
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.likeness import SIMILAR
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.model.token_layout import layout_of
from npu_overlays.overlay.operations import Operation
from npu_overlays.sources.pin import Pin

# Lines between a call and what does the rest of its work.
_NEAR = 2
# What a module imports is asked of the model; an index of a package, only for the type checker, is no call.
_IMPORTING = frozenset({"from", "import"})


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

    @property
    def symbol(self) -> Symbol:
        """Where it is now."""
        return Symbol(self.path, self.name)

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

    def calls_otherwise(self, name: str) -> bool:
        """Return whether it has new lines for those with a name, other than those that it had in another case.

        Where it let the name stand for something else before (`name = other`), a line with that is what it had.
        """
        before = self.lines[0]
        others = {line[2] for line in before if line[:2] == (name, "=") and len(line[2:]) == 1}
        known: set[Words] = set()
        for other in others:
            known.update(tuple(other if word == name else word for word in line) for line in before)
        return any(line not in known for line in self.added_for(name, name))

    def is_same_but_for(self, old: str, new: str) -> bool:
        """Return whether a name in it became another one, and nothing else changed."""
        before, now = self.lines
        was = [tuple(new if word == old else word for word in line) for line in before]
        return before != was == now


class Callers:
    """Finds what names an operation's target in upstream before, and the same functions now.

    Args:
        base: upstream where the overlay was locked.
        model: of the base.
        matcher: finds its definitions again.
        changed: the definitions of the modules that changed.
        pin: says which paths are shipped.
    """

    def __init__(self, base: Snapshot, model: Model, matcher: Matcher, changed: ChangedDefinitions, pin: Pin) -> None:
        self._base = base
        self._model = model
        self._matcher = matcher
        self._changed = changed
        self._pin = pin
        self._shipped = [path for path in base.entries if path.endswith(".py") and pin.place(path)]
        self._known: dict[tuple[str, str], list[str]] = {}
        self._readers: dict[tuple[str, str], list[str]] = {}
        self._uses: dict[tuple[str, str, str, bool], list[Use]] = {}
        self._naming: dict[str, list[str]] = {}  # by word
        self._lines_before: dict[tuple[str, str], list[Words]] = {}
        self._has: dict[tuple[str, str], bool] = {}

    def are_gone_to(self, operation: Operation, wanted: Operation, now: Snapshot) -> bool:
        """Return whether a caller of an operation's target calls another definition now."""
        return any(wanted.leaf in words_in(one.lines[1]) for one in self.of(operation, wanted, now))

    def of(self, operation: Operation, wanted: Operation, now: Snapshot) -> Iterator[Caller]:
        """Yield the functions, and the own lines of classes and modules, that named a target and are still there."""
        for use in self.uses(operation, now):
            yield from self.now(use, operation, wanted, now)

    def uses(self, operation: Operation, now: Snapshot) -> Iterator[Use]:
        """Yield what named a target in files that changed.

        It is of its class; for a function, of its file and of those that import the name. Others name it by its class;
        or by any object, if the package has that name no more, or nothing else had it and it is private.
        """
        is_anywhere = self._is_only(operation) or self._is_gone(operation, now)
        for path in dict.fromkeys((operation.path, *self._others(operation, is_anywhere=is_anywhere))):
            if now.blob(path) != self._base.blob(path):
                yield from self._uses_in(path, operation, is_anywhere=is_anywhere)

    def _uses_in(self, path: str, operation: Operation, *, is_anywhere: bool) -> list[Use]:
        """Return what names a target in a file of the base."""
        key = (path, operation.path, operation.name, is_anywhere)
        if key not in self._uses:
            module = self._base.module(path)
            self._uses[key] = self._uses_of(module, operation, is_anywhere=is_anywhere) if module else []
        return self._uses[key]

    def _uses_of(self, module: Module, operation: Operation, *, is_anywhere: bool) -> list[Use]:
        names = _possible(module, operation, is_anywhere=is_anywhere)
        found = (Use(module=module, name=name, lines=self._base_lines(module, name)) for name in names)
        return [use for use in found if _names(use, operation, is_anywhere=is_anywhere)]

    def _base_lines(self, module: Module, name: str) -> list[Words]:
        key = (module.path, name)
        if key not in self._lines_before:
            self._lines_before[key] = _lines(module, name)
        return self._lines_before[key]

    def _others(self, operation: Operation, *, is_anywhere: bool) -> Iterator[str]:
        """Yield the other modules that may name a target: they import it or its class, or read an attribute."""
        yield from self.importing(operation.path, operation.name.partition(".")[0])
        if is_anywhere:
            yield from self._reading(operation)

    def _is_gone(self, operation: Operation, now: Snapshot) -> bool:
        """Return whether no line of the package has a name any more, and Python does not call what has it."""
        leaf = operation.leaf
        if operation.path not in self._base.defining(leaf) or leaf.endswith("__"):
            return False
        if any(now.blob(path) == self._base.blob(path) for path in self.naming(leaf)):
            return False
        changed = filter(self._pin.place, now.modules_unlike(self._base))
        return not any(self._has_word(leaf, path, now) for path in changed)

    def naming(self, leaf: str) -> list[str]:
        """Return the shipped modules of the base that have a word."""
        if leaf not in self._naming:
            self._naming[leaf] = [path for path in self._shipped if self._has_word(leaf, path, self._base)]
        return self._naming[leaf]

    def _has_word(self, leaf: str, path: str, now: Snapshot) -> bool:
        key = (leaf, now.blob(path))
        if key not in self._has:
            text, word = now.read(path), leaf.encode()
            self._has[key] = word in text and bool(re.search(rb"\b%s\b" % word, text))
        return self._has[key]

    def _is_only(self, operation: Operation) -> bool:
        """Return whether no other object may have a member's name: it is private, and nothing else defines it."""
        module, leaf = self._base.module(operation.path), operation.leaf
        is_private = leaf.startswith("_") and not leaf.endswith("__")
        if not operation.owner or module is None or not is_private or self._base.defining(leaf) != [operation.path]:
            return False
        return [name for name in module.definitions if leaf_of(name) == leaf] == [operation.name]

    def losing(self, operation: Operation, now: Snapshot) -> list[str]:
        """Return the changed modules in which fewer objects have an attribute of a member's name than before.

        Each may have been its object. Those that `uses` asks are left out: `self` in its class, and its class.
        """
        own, leaf = leaf_of(operation.owner).encode(), operation.leaf.encode()
        read = re.compile(rb"(?<!\bself)(?<!\bcls)(?<!\b%s)\.%s\b" % (own, leaf))
        found: list[str] = []
        for path in [*self._reading(operation), operation.path]:
            there = now.read(path) if path in now else b""
            if len(read.findall(there)) < len(read.findall(self._base.read(path))):
                found.append(path)
        return found

    def _reading(self, operation: Operation) -> list[str]:
        """Return the other shipped modules of the base that read an attribute of a member's name."""
        key, named = (operation.path, operation.leaf), f".{operation.leaf}".encode()
        if key not in self._readers:
            others = (there for there in self._shipped if there != operation.path)
            self._readers[key] = [there for there in others if named in self._base.read(there)]
        return self._readers[key]

    def now(self, use: Use, operation: Operation, wanted: Operation, now: Snapshot) -> list[Caller]:
        """Return a caller where it is now; if it is missing, what has its name in other files and had not."""
        name = use.name
        along = wanted.owner if name == operation.owner else f"{wanted.owner}.{leaf_of(name)}"
        beside = [self._in_its_class(use, now), (wanted.path, along if operation.owner else name)]
        found = [one for one in beside if _is_there(*one, now)][:1]
        if not found:
            paths = self._changed.places(name.partition(".")[0], now)
            own = use.module.path
            for path in paths[:COMMON]:
                alike = self._matcher.likeness(own, name, now, name, there=path)
                if alike >= SIMILAR and self._matcher.is_new(own, name, now, name, there=path):
                    found.append((path, name))
        return [_caller(use, path, symbol, now) for path, symbol in found]

    def merged(self, use: Use, now: Snapshot) -> list[Caller]:
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

    def importing(self, path: str, name: str) -> list[str]:
        """Return the shipped modules of the base in which a name stands for that of another module."""
        if (path, name) not in self._known:
            found: list[str] = []
            for there in self._shipped:
                is_possible = there != path and name.encode() in self._base.read(there)
                if is_possible and (self._imports(there, path, name) or self._has_attribute(there, path, name)):
                    found.append(there)
            self._known[path, name] = found
        return self._known[path, name]

    def _imports(self, there: str, path: str, name: str) -> bool:
        """Return whether a module, or a function of it, imports a definition of another one by its name."""
        return Symbol(path, name) in self._model.resolver.anywhere(there, ast.Name(name, ast.Load()))

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


def _caller(use: Use, path: str, name: str, now: Snapshot) -> Caller:
    """Return what named a target in the place where it is now."""
    module = now.module(path)
    return Caller(was=use.module.path, path=path, name=name, lines=(use.lines, _lines(module, name) if module else []))


def _is_there(path: str, name: str, now: Snapshot) -> bool:
    """Return whether a module defines a name, once or for several cases; without a name, whether it can be read."""
    module = now.module(path)
    return module is not None and (not name or any(one.kind != "import" for one in module.definitions.get(name, ())))


def _lines(module: Module, name: str) -> list[Words]:
    """Return the logical lines of a function, or the own ones of a class or, without a name, of its module.

    Those of all definitions count, if there are several of the name, as those under `@overload`. Their docstrings and,
    outside of functions, their imports do not count.
    """
    if not name:
        return _lines_of(module, module.tree)
    return list(chain.from_iterable(_lines_of(module, one.node) for one in module.definitions[name]))


def _lines_of(module: Module, node: ast.stmt | ast.Module) -> list[Words]:
    """Return those of one definition, or of a module itself."""
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


def _possible(module: Module, operation: Operation, *, is_anywhere: bool) -> Iterator[str]:
    """Yield the functions and classes of a module whose lines may name an operation's target; empty for its own lines.

    To split all of a module into words is slow.
    """
    owner, is_own = operation.owner, module.path == operation.path
    is_near = is_anywhere or not owner or f"{leaf_of(owner)}.{operation.leaf}".encode() in module.content
    if is_near:
        yield ""
    for name, (one, *_) in module.definitions.items():
        is_possible = is_near or (is_own and owner in (one.parent, name))
        is_itself = is_own and name == operation.name
        if one.kind in ("function", "class") and is_possible and not is_itself:
            yield name


def _names(use: Use, operation: Operation, *, is_anywhere: bool) -> bool:
    """Return whether lines name an operation's target: outside of a member's class by that, or as an attribute."""
    owner, leaf, is_own = operation.owner, operation.leaf, use.module.path == operation.path
    if not owner or (is_own and owner in (owner_of(use.name), use.name)):
        return leaf in words_in(use.lines)
    of_class = (leaf_of(owner), ".", leaf)
    return any((is_anywhere and of_class[1:] in pairwise(line)) or of_class in _threes(line) for line in use.lines)


def _threes(line: Words) -> Iterator[Words]:
    return zip(line, line[1:], line[2:], strict=False)


def words_in(lines: Iterable[Words]) -> set[str]:
    """Return the words of some logical lines."""
    return {word for line in lines for word in line}
