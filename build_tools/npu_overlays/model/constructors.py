"""Constructors: class of a tree → the function or the record fields that take the arguments of a call, also as text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definition_fields import definition_fields
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.external_classes import BARE
from npu_overlays.model.fingerprint import brief
from npu_overlays.model.record_classes import RecordClasses, RecordField
from npu_overlays.model.symbols import Symbol

_DATACLASS = "dataclasses.dataclass"
# Python's own, which classes without any have.
(_OBJECTS,) = (one for one in ast.parse("def __init__(self): ...").body if isinstance(one, FUNCTIONS))


def constructor_signature(graph: ClassGraph, symbol: Symbol) -> str:
    """Return a class's constructor signature, `(self, a, b=1)`; `()` if the tree does not define it.

    It joins the parameters of the metaclass's `__call__` and of `__new__` and `__init__`, inherited ones included; of a
    record it has the fields in order, of a pydantic model the fields by name.
    """
    line = graph.line(symbol)
    found = [
        _signature_of(graph, metaclasses(graph, line), "__call__"),
        _signature_of(graph, line, "__new__"),
        _signature_of(graph, line, "__init__"),
    ]
    return " ".join(filter(None, found)) or _model_fields(graph, line) or "()"


def metaclasses(graph: ClassGraph, line: Iterable[Symbol]) -> list[Symbol]:
    """Return the metaclasses of classes, with their bases, that the tree defines."""
    found: list[Symbol] = []
    for symbol in line:
        node = graph.node(symbol)
        keywords = node.keywords if node else []
        for keyword in keywords:
            metaclass = graph.resolved_class(symbol.path, keyword.value) if keyword.arg == "metaclass" else None
            found += graph.line(metaclass) if metaclass else ()
    return found


def _signature_of(graph: ClassGraph, line: Iterable[Symbol], name: str) -> str:
    """Return the signature of the first method of that name, or generated ``__init__``, in an MRO."""
    records = RecordClasses(graph)
    for symbol in line:
        shown: dict[str, None] = {}
        for definition in graph.definitions(symbol.member(name)):
            fields = definition_fields(definition)
            shown[fields.get("signature", "") or fields["body"]] = None
        if shown:
            return " or ".join(shown)
        taken = records.taken(symbol) if name == "__init__" else None
        if taken is not None:
            return _fields_text(taken)
    return ""


def _fields_text(fields: Iterable[RecordField]) -> str:
    """Return the fields of a record as parameters."""
    shown: list[str] = []
    for field in fields:
        if field.kind == "kw" and "*" not in shown:
            shown.append("*")
        shown.append(f"{field.name}={brief(field.value)}" if field.value else field.name)
    return f"({', '.join(shown)})"


def _model_fields(graph: ClassGraph, line: Sequence[Symbol]) -> str:
    """Return the fields of a pydantic model with those of its bases; nothing for another class."""
    bases: set[str] = set()
    for symbol in line:
        bases.update(graph.dotted(base).rpartition(".")[2] for base in graph.bases(symbol).stated)
    if "BaseModel" not in bases:
        return ""
    fields: dict[str, str] = {}
    for symbol in reversed(line):
        node = graph.node(symbol)
        body = node.body if node else []
        for statement in body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                fields[statement.target.id] = f"={brief(statement.value)}" if statement.value else ""
    shown = ["*", *(f"{name}{value}" for name, value in fields.items())]
    return f"({', '.join(shown)})" if fields else ""


def constructor(graph: ClassGraph, symbol: Symbol) -> FunctionNode | frozenset[str] | None:
    """Return what takes the arguments of a call of a class.

    Returns:
        Its ``__init__``, or a base's, or one like `object`'s if none has any; the keywords of a dataclass; None if
        unknown.
    """
    return _constructor(graph, graph.line(symbol))


def super_constructor(graph: ClassGraph, symbol: Symbol) -> FunctionNode | frozenset[str] | None:
    """Return what ``super().__init__`` in a class is, as `constructor` does."""
    return _constructor(graph, graph.line(symbol)[1:]) if _has_known_bases(graph, symbol) else None


def _constructor(graph: ClassGraph, line: Sequence[Symbol]) -> FunctionNode | frozenset[str] | None:
    for symbol in line:
        if "__new__" in graph.members(symbol) or _is_called_otherwise(graph, symbol):
            return None
    for number, symbol in enumerate(line):
        if "__init__" in graph.members(symbol):
            known = graph.definitions(symbol.member("__init__"))
            node = known[0].node if len(known) == 1 else None
            return node if isinstance(node, FUNCTIONS) else None
        if _generates_init(graph, symbol):
            return _keywords(graph, line[number:])
        # An earlier class in the MRO may be a base from outside the tree.
        if not _has_known_bases(graph, symbol):
            return None
    return _OBJECTS


def _is_called_otherwise(graph: ClassGraph, symbol: Symbol) -> bool:
    """Return whether a metaclass or a decorator may replace a class's constructor."""
    node = graph.node(symbol)
    return node is None or bool(node.keywords) or len(node.decorator_list) > (_dataclass(graph, symbol) is not None)


def _has_known_bases(graph: ClassGraph, symbol: Symbol) -> bool:
    """Return whether every base of a class is in the tree or irrelevant to its constructor."""
    bases = graph.bases(symbol)
    return bases.known and all(isinstance(one, Symbol) or one in BARE for one in bases.stated)


def _generates_init(graph: ClassGraph, symbol: Symbol) -> bool:
    """Return whether a class is a dataclass with a generated ``__init__``."""
    decorator = _dataclass(graph, symbol)
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    for one in keywords:
        if one.arg == "init" and isinstance(one.value, ast.Constant) and one.value.value is False:
            return False
    return decorator is not None


def _dataclass(graph: ClassGraph, symbol: Symbol) -> ast.expr | None:
    """Return the decorator that makes a class a dataclass, or None."""
    node = graph.node(symbol)
    decorators = node.decorator_list if node else []
    for decorator in decorators:
        if graph.names(symbol.path, decorator) == {_DATACLASS}:
            return decorator
    return None


def _keywords(graph: ClassGraph, line: Sequence[Symbol]) -> frozenset[str] | None:
    """Return the keywords of a dataclass, given its MRO."""
    for symbol in line:
        if not _has_known_bases(graph, symbol):
            return None
    taken = RecordClasses(graph).taken(line[0])
    return None if taken is None else frozenset(one.name for one in taken)
