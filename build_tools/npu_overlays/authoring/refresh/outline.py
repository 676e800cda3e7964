"""Outline: the statements of a body → a value that does not depend on the order of statements that may be swapped."""

from __future__ import annotations

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import TypeAlias

from npu_overlays.authoring.refresh.statement_effects import (
    IMPORTS,
    NAMED,
    VALUES,
    acts,
    bound_within,
    names_read,
    touched,
)
from npu_overlays.model.definitions import bound_name, stored_names

_BUILTIN = frozenset(dir(builtins))
# What these give depends on all that was bound by then.
_LISTING = frozenset({"dir", "globals", "locals", "vars"})

# What stands in order, what stands anywhere, and what of that comes before what.
Outline: TypeAlias = tuple[list[object], list[str], list[tuple[str, str]]]


@dataclass(frozen=True, kw_only=True)
class _Item:
    """A statement, or one name that an import of a module binds.

    Args:
        text: what it says, as a canonical text.
        said: the same, with what a class holds in an outline of its own; None for an import of a module.
        free: whether it may stand anywhere, but for those it meets.
        binds: the names it binds.
        asks: the names it reads at once, not only when it is called.
        touches: the names it reads of what it may change: all, where it is there for what it does to something else.
        loads: whether it runs a module that may go by what was done before; Python's own do not.
        acts: whether what other modules find may be otherwise once it is done.
        field: whether it is a value of a class that may count its values in their order.
        lists: whether it asks what names there are.
    """

    text: str
    said: object
    free: bool
    binds: frozenset[str]
    asks: frozenset[str] = frozenset()
    touches: frozenset[str] = frozenset()
    loads: bool = False
    acts: bool = False
    field: bool = False
    lists: bool = False

    def meets(self, other: _Item) -> bool:
        """Return whether it matters which of the two stands first."""
        bound = self.binds & (other.binds | other.asks) or other.binds & self.asks
        touched = self.touches & other.asks or other.touches & self.asks
        prepared = (self.acts and other.loads) or (other.acts and self.loads)
        listed = (self.lists and other.binds) or (other.lists and self.binds)
        return bool(bound or touched or prepared or listed or (self.field and other.field))


def outline(nodes: Iterable[ast.stmt], known: Set[str], parent: str = "", *, fields: bool = False) -> Outline:
    """Return what the statements of a body come to.

    What upstream's module does not define may stand anywhere, as an operation adds it where it has to, and its imports
    of Python's own modules anywhere among the imports they stand among. But the order of two that bind or read one name
    counts, and of what acts on something that the other reads, as a decorator that registers does; so does the order of
    the values of a class that may go by it, and whether another module is imported before or after something was done.

    Args:
        nodes: the statements.
        known: what upstream's module defines, by qualified name.
        parent: the qualified name of the class they stand in, with a dot behind it.
        fields: whether that class may go by the order of its values.
    """
    items = [item for node in nodes for item in _items(node, known, parent, fields=fields)]
    numbers: Counter[str] = Counter()
    names: list[str] = []
    for item in items:
        numbers[item.text] += 1
        names.append(f"{item.text} {numbers[item.text]}")
    pairs = [
        (names[first], names[second])
        for first, second in combinations(range(len(items)), 2)
        if (items[first].free or items[second].free) and items[first].meets(items[second])
    ]
    ordered = list(_in_order(item for item in items if not item.free))
    return ordered, sorted(item.text for item in items if item.free), sorted(pairs)


def _in_order(items: Iterable[_Item]) -> Iterator[object]:
    """Yield what stands in order; of imports that only others stand between, that of Python's own modules is free."""
    for imports, several in groupby(items, key=lambda item: item.said is None):
        run = list(several)
        if imports:
            # Of two that bind one name the first comes first.
            yield [one.text for one in sorted(run, key=lambda one: sorted(one.binds))]
            yield [one.text for one in run if one.loads]
        else:
            yield from (one.said for one in run)


def _items(node: ast.stmt, known: Set[str], parent: str, *, fields: bool) -> Iterator[_Item]:
    if is_plain(node) and not parent:
        for name, text in imported(node):
            loads = text.split()[1].partition(".")[0] not in sys.stdlib_module_names
            yield _Item(text=text, said=None, free=name not in known, binds=frozenset([name]), loads=loads)
        return
    names = list(names_of(node))
    free = bool(names) and not known & {f"{parent}{name}" for name in names}
    if isinstance(node, ast.ClassDef) and not free:
        yield _class(node, known, parent)
    elif not (parent and isinstance(node, ast.Pass)):  # which only holds a place
        text, asked = ast.dump(node), frozenset(names_read(node))
        yield _Item(
            text=text,
            said=text,
            free=free,
            binds=frozenset(name.partition(".")[0] for name in names) or frozenset(bound_within(node)),
            asks=asked - _BUILTIN,
            touches=frozenset(touched(node, within=parent)) - _BUILTIN,
            acts=acts(node),
            field=fields and isinstance(node, VALUES),
            lists=bool(asked & _LISTING),
        )


def _class(node: ast.ClassDef, known: Set[str], parent: str) -> _Item:
    """Return a class that upstream has, whose members are looked at one by one."""
    head = [ast.dump(part) for part in (*node.bases, *node.keywords, *node.decorator_list)]
    plain = not head or head == [ast.dump(ast.Name(id="object", ctx=ast.Load()))]
    inner = outline(node.body, known, f"{parent}{node.name}.", fields=not plain)
    return _Item(
        text=f"class {node.name}",
        said=(node.name, head, inner),
        free=False,
        binds=frozenset([node.name]),
        asks=frozenset(names_read(node)) - _BUILTIN,
    )


def names_of(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or an assignment binds."""
    if isinstance(node, NAMED):
        yield node.name
    else:
        yield from stored_names(node)


def is_plain(node: ast.stmt) -> bool:
    """Return whether a statement of a module is an import that can stand elsewhere among the imports."""
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return isinstance(node, IMPORTS) and not future and all(alias.name != "*" for alias in node.names)


def imported(node: ast.stmt) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds, with the statement that binds it alone, as a merged import is written."""
    if isinstance(node, IMPORTS):
        source = f"from {'.' * node.level}{node.module or ''} " if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            as_name = f" as {alias.asname}" if alias.asname else ""
            yield bound_name(node, alias), f"{source}import {alias.name}{as_name}"
