"""Module comparison: two texts of one Python module → the classes and symbols that differ."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

from npu_overlays.changes.equivalence import bases, decorators, meaning, order, owners, statements
from npu_overlays.model.definitions import Definition, SymbolKind
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import symbols_of

ChangeAction = Literal["added", "replaced", "updated", "deleted"]
ChangeKind = Literal["class", "method", "attribute", "import", "statement", "order", "text", "file"]
_KINDS: dict[SymbolKind, ChangeKind] = {
    "function": "method",
    "class": "class",
    "attribute": "attribute",
    "import": "import",
}
# A definition and the symbol that means it in its module.
_Named: TypeAlias = tuple[str, Definition]


@dataclass(frozen=True, kw_only=True)
class SymbolChange:
    """One symbol that differs."""

    action: ChangeAction  # `added`, `replaced` or `deleted`; `updated` for a class or file of which parts differ
    # `method` for any function, as in the layout users know; `import` for a name that an import binds; `statement`
    # for code at module or class level that binds no name; `order` where what a module or class body has in common
    # with upstream's stands in another order or branch; `text` where only comments or formatting differ; `file` where
    # there is no syntax to compare
    kind: ChangeKind
    # qualified name, or the statement's first line, or the file's name; of one of several definitions with what leads
    # to it
    symbol: str
    # the symbols of the definitions it is of: several where they cannot be told apart in both modules
    parts: tuple[str, ...] = ()
    line: int | None = None  # 1-based line in the patched file; None for what is no longer there


@dataclass(frozen=True, kw_only=True)
class ChangedClass:
    """A class that differs, with its members that differ."""

    action: ChangeAction
    name: str
    line: int | None = None
    changes: tuple[SymbolChange, ...] = ()


@dataclass(kw_only=True)
class _Comparison:
    before: Module
    after: Module
    classes: dict[str, list[SymbolChange]] = field(default_factory=dict)
    module: list[SymbolChange] = field(default_factory=list)

    def note(self, parent: str, change: SymbolChange) -> None:
        if parent:
            self.classes.setdefault(parent, []).append(change)
        else:
            self.module.append(change)


def compare_modules(
    before: Module, after: Module, *, code: bool = True
) -> tuple[tuple[ChangedClass, ...], tuple[SymbolChange, ...]]:
    """Return the class changes and the module changes between two modules.

    Args:
        before: one module.
        after: the other.
        code: whether code and docstrings that bind no name count; of a file that came or went as a whole,
            the definitions say enough.
    """
    comparison = _Comparison(before=before, after=after)
    names = [*after.definitions, *(name for name in before.definitions if name not in after.definitions)]
    for name in names:
        _compare_name(comparison, name)
    for scope in ("", *_class_names(before, after)) if code else ():
        _compare_docstring(comparison, scope)
        _compare_statements(comparison, scope)
        _compare_order(comparison, scope)
    return tuple(_class_changes(comparison)), tuple(comparison.module)


def _compare_name(comparison: _Comparison, name: str) -> None:
    old = comparison.before.definitions.get(name, [])
    new = comparison.after.definitions.get(name, [])
    latest = (new or old)[-1]
    if latest.kind == "class" and all(definition.kind == "class" for definition in (*old, *new)):
        _compare_class_headers(comparison, name, old, new)
        return
    if not _is_untouched(comparison, old, new) and meaning(old) != meaning(new):
        then, now = (symbols_of(module, name) for module in (comparison.before, comparison.after))
        for change in _differing(name, [*zip(then, old, strict=True)], [*zip(now, new, strict=True)]):
            comparison.note(latest.parent, change)


def _differing(name: str, old: list[_Named], new: list[_Named]) -> Iterator[SymbolChange]:
    """Yield a change for each definition of a name that differs, or one for all where they cannot be told apart.

    As many as before are compared in order, whatever leads to them now. Any number of imports binds one package.
    """
    if {one.kind for _, one in (*old, *new)} == {"import"}:
        yield _of_name(name, old, new)
        return
    was, now = (meaning([one for _, one in listed]) for listed in (old, new))
    codes = SequenceMatcher(None, was, now).get_opcodes() if len(old) != len(new) else [("", 0, len(old), 0, len(new))]
    for tag, first, last, start, end in codes:
        if tag != "equal":
            yield from _paired(name, old[first:last], new[start:end])


def _paired(name: str, old: list[_Named], new: list[_Named]) -> Iterator[SymbolChange]:
    """Yield the changes of definitions between two that stayed: in order, or by what leads to them."""
    if len(old) != len(new) and len({*dict(old)} & {*dict(new)}) < min(len(old), len(new)):
        yield _of_name(name, old, new)
        return
    if len(old) == len(new):
        new = [(symbol, one) for (symbol, _), (_, one) in zip(old, new, strict=True)]
    for symbol in dict.fromkeys([*dict(old), *dict(new)]):
        before, after = ([one for one in listed if one[0] == symbol] for listed in (old, new))
        if meaning([one for _, one in before]) != meaning([one for _, one in after]):
            yield _of_name(symbol, before, after)


def _of_name(name: str, old: list[_Named], new: list[_Named]) -> SymbolChange:
    action: ChangeAction = "added" if not old else "deleted" if not new else "replaced"
    parts = tuple(dict.fromkeys(symbol for symbol, _ in (*old, *new)))
    (_, latest) = (new or old)[-1]
    line = latest.node.lineno if new else None
    return SymbolChange(action=action, kind=_KINDS[latest.kind], symbol=name, parts=parts, line=line)


def _is_untouched(comparison: _Comparison, old: list[Definition], new: list[Definition]) -> bool:
    """Return whether a name has one definition each, of the same text in the same branch: then it means the same."""
    if len(old) != 1 or len(new) != 1 or (old[0].kind, old[0].branch) != (new[0].kind, new[0].branch):
        return False
    then, now = comparison.before.whole_text(old[0].node), comparison.after.whole_text(new[0].node)
    return then == now


def _compare_class_headers(comparison: _Comparison, name: str, old: list[Definition], new: list[Definition]) -> None:
    """Note the class itself where it came, went, or has other bases, keywords or decorators."""
    if not old or not new:
        comparison.classes.setdefault(name, [])
    for attribute, part in (("__bases__", bases), ("__decorators__", decorators)):
        if old and new and [part(entry.node) for entry in old] != [part(entry.node) for entry in new]:
            comparison.note(
                name, SymbolChange(action="replaced", kind="attribute", symbol=f"{name}.{attribute}", line=_line(new))
            )


def _compare_docstring(comparison: _Comparison, scope: str) -> None:
    """Note another docstring of the module, or of a class that both modules have."""
    old, new = (owners(module, scope) for module in (comparison.before, comparison.after))
    if old and new and [ast.get_docstring(node) for node in old] != [ast.get_docstring(node) for node in new]:
        symbol = f"{scope}.__doc__" if scope else "__doc__"
        line = getattr(new[-1], "lineno", 1)
        comparison.note(scope, SymbolChange(action="replaced", kind="attribute", symbol=symbol, line=line))


def _compare_statements(comparison: _Comparison, scope: str) -> None:
    """Note the statements of a module or class body that bind nothing and are new or gone."""
    old = statements(comparison.before, scope)
    new = statements(comparison.after, scope)
    for action, mine, other in (("added", new, old), ("deleted", old, new)):
        surplus = Counter(text for text, _, _ in mine) - Counter(text for text, _, _ in other)
        for text, line, first in mine:
            if surplus[text] > 0:
                surplus[text] -= 1
                at = line if action == "added" else None
                symbol = f"{scope}.{first}" if scope else first
                comparison.note(scope, SymbolChange(action=action, kind="statement", symbol=symbol, line=at))  # type: ignore[arg-type]  # two of the actions


def _compare_order(comparison: _Comparison, scope: str) -> None:
    """Note once that what both bodies of a module or class have stands in another order, or in another branch."""
    old, new = (order(module, scope) for module in (comparison.before, comparison.after))
    counts = [Counter(text for text, _ in entries) for entries in (old, new)]
    # What is there more or less often is a change of its own, and stands in no order to the rest.
    kept = [[entry for entry in entries if counts[0][entry[0]] == counts[1][entry[0]]] for entries in (old, new)]
    line = next((now[1] for then, now in zip(*kept, strict=True) if then[0] != now[0]), None)
    line = line or next(_moved_classes(comparison, scope), None)
    if line:
        symbol = f"{scope}.__order__" if scope else "__order__"
        comparison.note(scope, SymbolChange(action="replaced", kind="order", symbol=symbol, line=line))


def _moved_classes(comparison: _Comparison, scope: str) -> Iterator[int]:
    """Yield the lines of the classes of a scope that stand in another branch than they did."""
    for name, new in comparison.after.definitions.items():
        old = comparison.before.definitions.get(name, [])
        classes = [[one for one in each if one.kind == "class" and one.parent == scope] for each in (old, new)]
        if all(classes) and [one.branch for one in classes[0]] != [one.branch for one in classes[1]]:
            yield classes[1][0].node.lineno


def _class_changes(comparison: _Comparison) -> Iterator[ChangedClass]:
    before, after = comparison.before.definitions, comparison.after.definitions
    lines = {name: _line(after.get(name, [])) for name in comparison.classes}
    for name in sorted(comparison.classes, key=lambda name: (lines[name] is None, lines[name] or 0, name)):
        action: ChangeAction = (
            "updated" if name in before and name in after else "added" if name in after else "deleted"
        )
        yield ChangedClass(action=action, name=name, line=lines[name], changes=tuple(comparison.classes[name]))


def _class_names(*modules: Module) -> list[str]:
    return sorted(
        {
            name
            for module in modules
            for name, known in module.definitions.items()
            if any(definition.kind == "class" for definition in known)
        }
    )


def _line(definitions: list[Definition]) -> int | None:
    return definitions[-1].node.lineno if definitions else None
