"""Record classes: classes of a tree whose ``__init__`` is generated from fields, and the order of its parameters.

These are dataclasses and classes of attrs and msgspec, with inherited fields.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.external_classes import is_named_tuple
from npu_overlays.model.symbols import Symbol
from npu_overlays.model.syntax import last_name, targets

_ATTRS = frozenset({"s", "attrs", "attributes", "dataclass", "define", "frozen", "mutable"})
_DEFAULTS = frozenset({"default", "default_factory", "factory"})
_FIELDS = frozenset({"field", "ib", "attrib", "Field"})


@dataclass(frozen=True, kw_only=True)
class RecordField:
    """One field that a class has itself."""

    name: str
    kind: str  # how ``__init__`` takes it: ``|`` by position too, ``kw`` by name alone; empty where it does not
    value: ast.expr | None = None  # what it is given in the class, if anything

    @property
    def has_default(self) -> bool:
        """Whether it need not be given: a call such as `field` says so by a keyword, if it says so."""
        if not isinstance(self.value, ast.Call) or last_name(self.value.func) not in _FIELDS:
            return self.value is not None
        return any(one.arg is None or one.arg in _DEFAULTS for one in self.value.keywords)


class RecordClasses:
    """The record classes of one tree.

    Args:
        graph: all classes of that tree.
    """

    def __init__(self, graph: ClassGraph) -> None:
        self.graph = graph
        self._makers: dict[Symbol, str] = {}
        self._all: dict[Symbol, dict[str, RecordField]] = {}

    def positions(self, symbol: Symbol) -> list[str] | None:
        """Return the fields that a class's own generated ``__init__`` takes by position; None if it has none."""
        taken = self.taken(symbol)
        return None if taken is None else [one.name for one in taken if one.kind == "|"]

    def taken(self, symbol: Symbol) -> list[RecordField] | None:
        """Return the fields that a class's own generated ``__init__`` takes, in order; None if it has none."""
        node = self.graph.node(symbol)
        if not node or not self._maker(symbol) or _option(node, "init") is False:
            return None
        if any(getattr(one, "name", "") == "__init__" for one in node.body):
            return None
        taken = [one for one in self._fields_of_all(symbol).values() if one.kind]
        return sorted(taken, key=lambda one: one.kind == "kw")

    def _fields_of_all(self, symbol: Symbol) -> dict[str, RecordField]:
        """Return the fields of a class, inherited ones first, as they are collected along its MRO."""
        if symbol not in self._all:
            self._all[symbol] = {}  # for a class that is, by mistake, its own base
            found: dict[str, RecordField] = {}
            for base in reversed(self.graph.line(symbol)[1:]):
                found |= self._fields_of_all(base)
            for one in self.fields(symbol):
                found[one.name] = one
            self._all[symbol] = found
        return self._all[symbol]

    def fields(self, symbol: Symbol) -> list[RecordField]:
        """Return the fields that a class adds to inherited ones; none if it is no record."""
        node = self.graph.node(symbol)
        # Most classes have none, and finding a maker is slow.
        maker = self._maker(symbol) if node and any(map(_may_be_field, node.body)) else ""
        if not node or not maker:
            return []
        if maker != "NamedTuple":
            return list(_fields(node, maker))
        found: list[RecordField] = []
        for one in node.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                found.append(RecordField(name=one.target.id, kind="|", value=one.value))
        return found

    def is_dataclass(self, symbol: Symbol) -> bool:
        """Return whether a decorator `dataclass` makes a class."""
        return self._maker(symbol) == "dataclass"

    def is_named_tuple(self, symbol: Symbol) -> bool:
        """Return whether a class is a ``typing.NamedTuple``, so that a field changes its length."""
        return self._maker(symbol) == "NamedTuple"

    def _maker(self, symbol: Symbol) -> str:
        """Return the kind of record: ``dataclass``, ``attrs``, ``msgspec``, ``NamedTuple`` or an empty text."""
        if symbol not in self._makers:
            self._makers[symbol] = self._find_maker(symbol)
        return self._makers[symbol]

    def _find_maker(self, symbol: Symbol) -> str:
        node = self.graph.node(symbol)
        if node is None:
            return ""
        for decorator in node.decorator_list:
            for name in self.graph.names(symbol.path, decorator):
                home, _, leaf = name.rpartition(".")
                if leaf in _ATTRS and home in ("attr", "attrs"):
                    return "attrs"
                if leaf == "dataclass":
                    return "dataclass"
        if any(map(is_named_tuple, self.graph.bases(symbol).stated)):
            return "NamedTuple"
        # Only these are records by their bases, and finding a class's bases is slow.
        return "msgspec" if self.graph.may_have_structs and "msgspec.Struct" in self.graph.outside(symbol) else ""


def _may_be_field(statement: ast.stmt) -> bool:
    """Return whether a record would have a field of a statement: it has a type, or is given what makes one."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(statement, ast.AnnAssign) or (isinstance(value, ast.Call) and last_name(value.func) in _FIELDS)


def _fields(node: ast.ClassDef, maker: str) -> Iterator[RecordField]:
    """Yield the fields in a class body, as a dataclass, attrs or msgspec reads it."""
    by_name = _option(node, "kw_only") is True
    for statement in node.body:
        annotation = ast.unparse(statement.annotation) if isinstance(statement, ast.AnnAssign) else ""
        if annotation.rpartition(".")[2] == "KW_ONLY":
            by_name = True
            continue
        stated = targets(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else []
        if len(stated) != 1 or not isinstance(stated[0], ast.Name) or "ClassVar" in annotation:
            continue
        value: ast.expr | None = getattr(statement, "value", None)
        call = value if isinstance(value, ast.Call) and last_name(value.func) in _FIELDS else None
        options = {one.arg: getattr(one.value, "value", None) for one in call.keywords} if call else {}
        if annotation or (call and maker == "attrs"):
            kind = "kw" if options.get("kw_only", by_name) else "|"
            yield RecordField(name=stated[0].id, kind="" if options.get("init") is False else kind, value=value)


def _option(node: ast.ClassDef, name: str) -> object:
    """Return the value of a keyword given to a record's decorator or header, or None."""
    keywords: list[ast.keyword] = []
    for decorator in node.decorator_list:
        keywords += decorator.keywords if isinstance(decorator, ast.Call) else []
    for one in (*keywords, *node.keywords):
        if one.arg == name:
            return getattr(one.value, "value", None)
    return None
