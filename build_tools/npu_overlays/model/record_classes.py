"""Records: the classes of one tree whose ``__init__`` is made from their fields, and the order in which it takes them.

Those are dataclasses and what attrs and msgspec make, with the fields that their bases give them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.external_classes import is_named_tuple
from npu_overlays.model.symbols import Symbol

_ATTRS = frozenset({"s", "attrs", "attributes", "dataclass", "define", "frozen", "mutable"})
_FIELDS = frozenset({"field", "ib", "attrib", "Field"})


@dataclass(frozen=True, kw_only=True)
class RecordField:
    """One field a class has itself.

    Args:
        name: its name.
        kind: how ``__init__`` takes it: ``|`` by position too, ``kw`` by name alone; empty where it does not.
        value: what it is given in the class, if anything.
    """

    name: str
    kind: str
    value: ast.expr | None = None


class RecordClasses:
    """The record classes of one tree.

    Args:
        graph: all classes of that tree.
        structs: returns whether the tree may have any ``msgspec.Struct``.
    """

    def __init__(self, graph: ClassGraph, structs: Callable[[], bool]) -> None:
        self.graph = graph
        self._structs = structs
        self._makers: dict[Symbol, str] = {}
        self._all: dict[Symbol, dict[str, RecordField]] = {}

    def positions(self, symbol: Symbol) -> list[str] | None:
        """Return the fields that a class's own generated ``__init__`` takes by position; None where it has none."""
        taken = self.taken(symbol)
        return None if taken is None else [one.name for one in taken if one.kind == "|"]

    def taken(self, symbol: Symbol) -> list[RecordField] | None:
        """Return the fields that a class's own generated ``__init__`` takes, in order; None where it has none."""
        node = self.graph.node(symbol)
        if not node or not self._maker(symbol) or _option(node, "init") is False:
            return None
        if any(getattr(one, "name", "") == "__init__" for one in node.body):
            return None
        taken = [one for one in self._fields_of_all(symbol).values() if one.kind]
        return sorted(taken, key=lambda one: one.kind == "kw")

    def _fields_of_all(self, symbol: Symbol) -> dict[str, RecordField]:
        """Return the fields of a class, those of its bases in front, as its maker collects them along its line."""
        if symbol not in self._all:
            self._all[symbol] = {}  # for a class that is, by mistake, its own base
            found: dict[str, RecordField] = {}
            for base in reversed(self.graph.line(symbol)[1:]):
                found |= self._fields_of_all(base)
            self._all[symbol] = found | {one.name: one for one in self.fields(symbol)}
        return self._all[symbol]

    def fields(self, symbol: Symbol) -> list[RecordField]:
        """Return the fields that a class adds to those of its bases; none where it is not made into a record."""
        node, maker = self.graph.node(symbol), self._maker(symbol)
        if not node or not maker:
            return []
        if maker == "NamedTuple":
            stated = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            return [
                RecordField(name=one.target.id, kind="|", value=one.value)
                for one in stated
                if isinstance(one.target, ast.Name)
            ]
        return list(_fields(node, maker))

    def is_named_tuple(self, symbol: Symbol) -> bool:
        """Return whether a class is a ``typing.NamedTuple``, whose length its fields are."""
        return self._maker(symbol) == "NamedTuple"

    def _maker(self, symbol: Symbol) -> str:
        """Return what makes a record of a class: ``dataclass``, ``attrs``, ``msgspec``, ``NamedTuple`` or nothing."""
        if symbol not in self._makers:
            self._makers[symbol] = self._find_maker(symbol)
        return self._makers[symbol]

    def _find_maker(self, symbol: Symbol) -> str:
        node = self.graph.node(symbol)
        if node is None:
            return ""
        for name in (name for one in node.decorator_list for name in self.graph.names(symbol.path, one)):
            home, _, leaf = name.rpartition(".")
            if leaf in _ATTRS and home in ("attr", "attrs"):
                return "attrs"
            if leaf == "dataclass":
                return "dataclass"
        if any(map(is_named_tuple, self.graph.bases(symbol).stated)):
            return "NamedTuple"
        # Only these are records by what they derive from, and to find out what a class derives from takes long.
        return "msgspec" if self._structs() and "msgspec.Struct" in self.graph.outside(symbol) else ""


def _fields(node: ast.ClassDef, maker: str) -> Iterator[RecordField]:
    named = _option(node, "kw_only") is True
    for statement in node.body:
        target, value = _target(statement)
        annotation = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
        made = value if isinstance(value, ast.Call) and _leaf(value.func) in _FIELDS else None
        told = {one.arg: getattr(one.value, "value", None) for one in made.keywords} if made else {}
        if annotation.rpartition(".")[2] == "KW_ONLY":
            named = True
        elif target and "ClassVar" not in annotation and (annotation or (made and maker == "attrs")):
            kind = "" if told.get("init") is False else "kw" if told.get("kw_only", named) else "|"
            yield RecordField(name=target, kind=kind, value=value)


def _target(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id, statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    return "", None


def _option(node: ast.ClassDef, name: str) -> object:
    """Return what a class's maker is told by a keyword, None where it is told nothing."""
    calls = [one for one in node.decorator_list if isinstance(one, ast.Call)]
    keywords = [keyword for call in calls for keyword in call.keywords] + list(node.keywords)
    return next((getattr(one.value, "value", None) for one in keywords if one.arg == name), None)


def _leaf(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
