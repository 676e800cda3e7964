"""Constructors: class of a tree → what it is called with."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.externals import BARE
from npu_overlays.model.records import Records
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode

_DATACLASS = "dataclasses.dataclass"
# Python's own, which classes without any have.
(_OBJECTS,) = (one for one in ast.parse("def __init__(self): ...").body if isinstance(one, FUNCTIONS))


def constructor(graph: ClassGraph, symbol: Symbol) -> FunctionNode | frozenset[str] | None:
    """Return what a class is called by.

    Returns:
        Its ``__init__``, a base's, or one like Python's own where none has any; the keywords of a dataclass; None where
        that cannot be told.
    """
    return _constructor(graph, graph.line(symbol))


def constructor_behind(graph: ClassGraph, symbol: Symbol) -> FunctionNode | frozenset[str] | None:
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
    taken = Records(graph, lambda: False).taken(line[0])
    return None if taken is None else frozenset(one.name for one in taken)


def _says(call: ast.expr, keyword: str, *, value: bool) -> bool:
    """Return whether an expression is a call with a keyword of a certain value."""
    given = call.keywords if isinstance(call, ast.Call) else []
    return any(one.arg == keyword and getattr(one.value, "value", None) is value for one in given)
