"""Module comparison: two texts of one Python module → the classes and symbols that differ."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, partial
from typing import Literal, NamedTuple

from npu_overlays.changes.equivalence import bases, decorators, meaning, order, owners, statements
from npu_overlays.model.definitions import Definition, SymbolKind
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import owner_of, symbols_of

ChangeAction = Literal["added", "replaced", "updated", "deleted"]
ChangeKind = Literal["class", "method", "attribute", "import", "statement", "order", "text", "file"]
_KINDS: dict[SymbolKind, ChangeKind] = {
    "function": "method",
    "class": "class",
    "attribute": "attribute",
    "import": "import",
}


class _Named(NamedTuple):
    symbol: str  # what means this definition alone in its module
    definition: Definition


@dataclass(frozen=True, kw_only=True)
class SymbolChange:
    """One symbol that differs."""

    action: ChangeAction  # `updated` for a class or file with parts that differ
    # `method` is any function, as in the layout users know; `import` a name that an import binds; `statement` code at
    # module or class level that binds no name; `order` what both bodies of a module or class have, in another order or
    # branch; `text` a difference in comments or formatting alone; `file` one where there is no syntax to compare
    kind: ChangeKind
    # the qualified name, with a selector for one of several definitions; or a statement's first line, or a file's name
    symbol: str
    parts: tuple[str, ...] = ()  # the symbols of its definitions: several where they cannot be told apart
    line: int | None = None  # 1-based line in the patched file; None if it is gone


@dataclass(frozen=True, kw_only=True)
class ChangedClass:
    """A class that differs, with its members that differ."""

    action: ChangeAction
    name: str
    line: int | None = None
    changes: tuple[SymbolChange, ...] = ()

    def as_a_whole(self) -> SymbolChange:
        """Return the change of the class itself."""
        return SymbolChange(action=self.action, kind="class", symbol=self.name, line=self.line)


def compare_modules(
    before: Module, after: Module, *, code: bool = True
) -> tuple[tuple[ChangedClass, ...], tuple[SymbolChange, ...]]:
    """Return the class changes and the module changes between two modules.

    Args:
        before: one module.
        after: the other.
        code: whether code and docstrings that bind no name count; for an added or deleted file, the definitions are
            enough.
    """
    comparison = _Comparison(before, after)
    for name in dict.fromkeys([*after.definitions, *before.definitions]):
        comparison.compare_name(name)
    if code:
        for scope in ("", *_class_names(before, after)):
            comparison.compare_body(scope)
    return tuple(comparison.changed_classes()), tuple(comparison.module)


class _Comparison:
    """Two modules, and the changes found so far: by class, and of the module itself."""

    def __init__(self, before: Module, after: Module) -> None:
        self._before = before
        self._after = after
        self._is_untouched = cache(self._has_same_text)
        self._classes: dict[str, list[SymbolChange]] = {}
        self._inner_classes: dict[str, list[str]] = {}
        for name in filter(partial(_classes, after), after.definitions):
            self._inner_classes.setdefault(owner_of(name), []).append(name)
        self.module: list[SymbolChange] = []

    def _note(self, parent: str, change: SymbolChange) -> None:
        changes = self._classes.setdefault(parent, []) if parent else self.module
        changes.append(change)

    def _note_attribute(self, scope: str, attribute: str, line: int | None, kind: ChangeKind = "attribute") -> None:
        """Note a difference of a module or class that belongs to no definition."""
        symbol = f"{scope}.{attribute}" if scope else attribute
        self._note(scope, SymbolChange(action="replaced", kind=kind, symbol=symbol, line=line))

    def compare_name(self, name: str) -> None:
        """Note how the definitions of a name differ; for a class, of its header only: members have their own names."""
        old, new = self._before.definitions.get(name, []), self._after.definitions.get(name, [])
        latest = (new or old)[-1]
        if all(definition.kind == "class" for definition in (latest, *old, *new)):
            self._compare_class_headers(name, old, new)
        elif not self._is_untouched(name) and (len(old) != len(new) or meaning(old) != meaning(new)):
            for change in _differing(name, _named(self._before, name, old), _named(self._after, name, new)):
                self._note(latest.parent, change)

    def _has_same_text(self, name: str) -> bool:
        """Return whether a name has one definition in each module, with the same text in the same branch."""
        old, new = self._before.definitions.get(name, []), self._after.definitions.get(name, [])
        if len(old) != 1 or len(new) != 1 or (old[0].kind, old[0].branch) != (new[0].kind, new[0].branch):
            return False
        if (owner := new[0].owner) and self._is_untouched(owner.name):
            return True
        return self._before.whole_text(old[0].node) == self._after.whole_text(new[0].node)

    def _compare_class_headers(self, name: str, old: list[Definition], new: list[Definition]) -> None:
        """Note a class that is added or deleted, or has other bases, keywords or decorators."""
        if not old or not new:
            self._classes.setdefault(name, [])
            return
        for attribute, part in (("__bases__", bases), ("__decorators__", decorators)):
            if [part(entry.node) for entry in old] != [part(entry.node) for entry in new]:
                self._note_attribute(name, attribute, _line(new))

    def compare_body(self, scope: str) -> None:
        """Note what differs between two bodies of the module, or of a class, beside the definitions in them."""
        if not self._is_untouched(scope):
            self._compare_docstring(scope)
            self._compare_statements(scope)
            self._compare_order(scope)

    def _compare_docstring(self, scope: str) -> None:
        """Note a changed docstring of the module, or of a class that both modules have."""
        old, new = owners(self._before, scope), owners(self._after, scope)
        if old and new and list(map(ast.get_docstring, old)) != list(map(ast.get_docstring, new)):
            self._note_attribute(scope, "__doc__", getattr(new[-1], "lineno", 1))

    def _compare_statements(self, scope: str) -> None:
        """Note the statements of a module or class body that bind no name and are added or deleted."""
        old, new = statements(self._before, scope), statements(self._after, scope)
        prefix = f"{scope}." if scope else ""
        for _, line, first in _surplus(new, old):
            self._note(scope, SymbolChange(action="added", kind="statement", symbol=prefix + first, line=line))
        for _, _, first in _surplus(old, new):
            self._note(scope, SymbolChange(action="deleted", kind="statement", symbol=prefix + first))

    def _compare_order(self, scope: str) -> None:
        """Note once that common parts of two bodies are in another order or branch."""
        old, new = order(self._before, scope), order(self._after, scope)
        counts, counts_now = Counter(event for event, _ in old), Counter(event for event, _ in new)
        # An event that is there more or less often is a change of its own, and stands in no order to the rest.
        common = {event for event in counts if counts[event] == counts_now[event]}
        then = (entry for entry in old if entry[0] in common)
        now = (entry for entry in new if entry[0] in common)
        moved = (there[1] for here, there in zip(then, now, strict=True) if here[0] != there[0])
        line = next(moved, None) or next(self._moved_classes(scope), None)
        if line:
            self._note_attribute(scope, "__order__", line, "order")

    def _moved_classes(self, scope: str) -> Iterator[int]:
        """Yield the lines of the classes of a scope that moved to another branch."""
        for name in self._inner_classes.get(scope, ()):
            old, new = _classes(self._before, name), _classes(self._after, name)
            if old and [one.branch for one in old] != [one.branch for one in new]:
                yield new[0].node.lineno

    def changed_classes(self) -> Iterator[ChangedClass]:
        """Yield the differing classes in the order of the patched module, then the deleted ones."""
        before, after = self._before.definitions, self._after.definitions
        lines = {name: _line(after.get(name, [])) for name in self._classes}
        for name in sorted(self._classes, key=lambda name: (lines[name] is None, lines[name] or 0, name)):
            action: ChangeAction = "deleted" if name not in after else "updated" if name in before else "added"
            yield ChangedClass(action=action, name=name, line=lines[name], changes=tuple(self._classes[name]))


def _named(module: Module, name: str, definitions: Iterable[Definition]) -> list[_Named]:
    return list(map(_Named, symbols_of(module, name), definitions))


def _meaning(named: Iterable[_Named]) -> list[tuple[str, tuple[str, ...], str]]:
    return meaning(one.definition for one in named)


def _differing(name: str, old: list[_Named], new: list[_Named]) -> Iterator[SymbolChange]:
    """Yield a change for each differing definition of a name, or one for all if they cannot be matched.

    The same number of definitions is compared in order, without their selectors. Imports of one package count once.
    """
    if {one.definition.kind for one in (*old, *new)} == {"import"}:
        yield _of_name(name, old, new)
    elif len(old) == len(new) or not (old and new):
        yield from _paired(name, old, new)
    else:
        for tag, first, last, start, end in SequenceMatcher(None, _meaning(old), _meaning(new)).get_opcodes():
            if tag != "equal":
                yield from _paired(name, old[first:last], new[start:end])


def _paired(name: str, old: list[_Named], new: list[_Named]) -> Iterator[SymbolChange]:
    """Yield the changes of definitions that differ, between two unchanged ones: in order, or by selectors."""
    if len(old) == len(new):
        new = [_Named(was.symbol, now.definition) for was, now in zip(old, new, strict=True)]
    elif len(dict(old).keys() & dict(new).keys()) < min(len(old), len(new)):
        yield _of_name(name, old, new)
        return
    sides: dict[str, tuple[list[_Named], list[_Named]]] = {}
    for side, named in enumerate((old, new)):
        for one in named:
            sides.setdefault(one.symbol, ([], []))[side].append(one)
    for symbol, (before, after) in sides.items():
        if len(sides) == 1 or _meaning(before) != _meaning(after):
            yield _of_name(symbol, before, after)


def _of_name(name: str, old: list[_Named], new: list[_Named]) -> SymbolChange:
    action: ChangeAction = "added" if not old else "deleted" if not new else "replaced"
    parts = tuple(dict([*old, *new]))
    latest = (new or old)[-1].definition
    line = latest.node.lineno if new else None
    return SymbolChange(action=action, kind=_KINDS[latest.kind], symbol=name, parts=parts, line=line)


def _surplus(mine: list[tuple[str, int, str]], other: list[tuple[str, int, str]]) -> Iterator[tuple[str, int, str]]:
    """Yield the statements that another list lacks, or has fewer times."""
    surplus = Counter(one[0] for one in mine)
    surplus.subtract(one[0] for one in other)
    for statement in mine:
        if surplus[statement[0]] > 0:
            surplus[statement[0]] -= 1
            yield statement


def _classes(module: Module, name: str) -> list[Definition]:
    return [one for one in module.definitions.get(name, []) if one.kind == "class"]


def _class_names(*modules: Module) -> list[str]:
    names: set[str] = set()
    for module in modules:
        names.update(filter(partial(_classes, module), module.definitions))
    return sorted(names)


def _line(definitions: list[Definition]) -> int | None:
    return definitions[-1].node.lineno if definitions else None
