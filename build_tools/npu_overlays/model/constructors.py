"""Constructors: class of a tree → the function or the fields that a call of it goes to, also as text."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definition_fields import definition_fields
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.external_classes import BARE
from npu_overlays.model.fingerprint import brief
from npu_overlays.model.record_classes import RecordClasses, RecordField
from npu_overlays.model.symbols import Symbol

_MAKING = ("__new__", "__init__")
_DATACLASS = "dataclasses.dataclass"
# Python's own, which classes without any have.
(_OBJECTS,) = (one for one in ast.parse("def __init__(self): ...").body if isinstance(one, FUNCTIONS))


def constructor_signature(graph: ClassGraph, symbol: Symbol) -> str:
    """Return what a class is called with, `(self, a, b=1)`; `()` where its tree says nothing of that.

    Those are the parameters of its metaclass's `__call__`, and of its `__new__` and `__init__`, its own or a base's, or
    the fields of a record in order, or of a model of pydantic's by name.
    """
    records = RecordClasses(graph, lambda: True)
    line = graph.line(symbol)
    found = [next(filter(None, (_callable_text(graph, records, one, name) for one in line)), "") for name in _MAKING]
    metaclass = (one for base in line for meta in _metaclasses(graph, base) for one in graph.line(meta))
    first = next(filter(None, (_callable_text(graph, records, one, "__call__") for one in metaclass)), "")
    return " ".join(filter(None, [first, *found])) or _model_fields(graph, line) or "()"


def _metaclasses(graph: ClassGraph, symbol: Symbol) -> Iterator[Symbol]:
    """Yield the metaclass that a class names, where that is upstream's."""
    node = graph.node(symbol)
    stated = (one.value for one in (node.keywords if node else ()) if one.arg == "metaclass")
    yield from filter(None, (graph.meant(symbol.path, value) for value in stated))


def _model_fields(graph: ClassGraph, line: Sequence[Symbol]) -> str:
    """Return the fields of a model of pydantic's with those of its bases; nothing for another class."""
    bases = {graph.dotted(base) for one in line for base in graph.bases(one).stated}
    if not any(name.rpartition(".")[2] == "BaseModel" for name in bases):
        return ""
    nodes = (node for one in reversed(line) if (node := graph.node(one)))
    stated = [one for node in nodes for one in node.body if isinstance(one, ast.AnnAssign)]
    fields = {one.target.id: one.value for one in stated if isinstance(one.target, ast.Name)}
    shown = (f"{name}={brief(value)}" if value else name for name, value in fields.items())
    return f"({', '.join(['*', *shown])})" if fields else ""


def _callable_text(graph: ClassGraph, records: RecordClasses, symbol: Symbol, name: str) -> str:
    known = [definition_fields(one) for one in graph.definitions(symbol.member(name))]
    if known:
        return " or ".join(dict.fromkeys(one.get("signature", "") or one["body"] for one in known))
    taken = records.taken(symbol) if name == "__init__" else None
    return f"({', '.join(_written(taken))})" if taken is not None else ""


def _written(fields: list[RecordField]) -> list[str]:
    """Return fields as parameters are written."""
    shown = [f"{one.name}={brief(one.value)}" if one.value else one.name for one in fields]
    named = next((number for number, one in enumerate(fields) if one.kind == "kw"), None)
    return shown if named is None else [*shown[:named], "*", *shown[named:]]


def constructor(graph: ClassGraph, symbol: Symbol) -> FunctionNode | frozenset[str] | None:
    """Return what a class is called by.

    Returns:
        Its ``__init__``, a base's, or one like Python's own where none has any; the keywords of a dataclass; None where
        that cannot be told.
    """
    return _constructor(graph, graph.line(symbol))


def super_constructor(graph: ClassGraph, symbol: Symbol) -> FunctionNode | frozenset[str] | None:
    """Return what ``super().__init__`` in a class is, likewise."""
    return _constructor(graph, graph.line(symbol)[1:]) if _has_known_bases(graph, symbol) else None


def _constructor(graph: ClassGraph, line: Sequence[Symbol]) -> FunctionNode | frozenset[str] | None:
    if any("__new__" in graph.members(one) or _is_called_otherwise(graph, one) for one in line):
        return None
    number = next((at for at, one in enumerate(line) if _provides(graph, one)), len(line))
    # What is asked earlier may be a base that is of no distribution at hand.
    if not all(_has_known_bases(graph, one) for one in line[:number]):
        return None
    if number == len(line):
        return _OBJECTS
    if "__init__" in graph.members(line[number]):
        return _function(graph, line[number])
    return _fields(graph, line[number:])


def _is_called_otherwise(graph: ClassGraph, symbol: Symbol) -> bool:
    """Return whether a metaclass or a decorator may exchange what a class is called by."""
    node = graph.node(symbol)
    return node is None or bool(node.keywords) or len(node.decorator_list) > (_dataclass(graph, symbol) is not None)


def _has_known_bases(graph: ClassGraph, symbol: Symbol) -> bool:
    """Return whether the bases of a class are of the tree, or have nothing to do with how a class is called."""
    bases = graph.bases(symbol)
    return bases.known and all(isinstance(one, Symbol) or one in BARE for one in bases.stated)


def _provides(graph: ClassGraph, symbol: Symbol) -> bool:
    made = _dataclass(graph, symbol)
    return "__init__" in graph.members(symbol) or (made is not None and not _says(made, "init", value=False))


def _function(graph: ClassGraph, symbol: Symbol) -> FunctionNode | None:
    known = graph.definitions(symbol.member("__init__"))
    node = known[0].node if len(known) == 1 else None
    return node if isinstance(node, FUNCTIONS) else None


def _dataclass(graph: ClassGraph, symbol: Symbol) -> ast.expr | None:
    """Return the decorator that makes a class a dataclass; None where none does."""
    node = graph.node(symbol)
    decorators = node.decorator_list if node else []
    return next((one for one in decorators if graph.names(symbol.path, one) == {_DATACLASS}), None)


def _fields(graph: ClassGraph, line: Sequence[Symbol]) -> frozenset[str] | None:
    """Return the keywords of a dataclass, given it and its bases in the order in which Python asks them."""
    if not all(_has_known_bases(graph, one) for one in line):
        return None
    taken = RecordClasses(graph, lambda: False).taken(line[0])
    return None if taken is None else frozenset(one.name for one in taken)


def _says(call: ast.expr, keyword: str, *, value: bool) -> bool:
    """Return whether an expression is a call with a keyword of a certain value."""
    given = call.keywords if isinstance(call, ast.Call) else []
    return any(one.arg == keyword and getattr(one.value, "value", None) is value for one in given)
