"""Callables: function or class of a tree → what it can be called with."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.externals import BARE
from npu_overlays.model.lookup import ResolvedSymbol, Upstream
from npu_overlays.model.records import Records
from npu_overlays.model.symbols import Symbol

_DATACLASS = "dataclasses.dataclass"
# Under any other decorator, what is called may be something else.
_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "cache", "lru_cache", "no_grad", "inference_mode", "contextmanager", "override"}
    | {"abstractmethod", "overload"}
)
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


def takes(there: Upstream, found: ResolvedSymbol, keyword: str) -> bool | None:
    """Return whether what a name stands for takes a keyword; None where that cannot be told.

    Args:
        there: all that is installed.
        found: what the name stands for.
        keyword: the keyword.
    """
    if found.classes:
        return _constructor_takes(there, found, keyword) if len(found.nodes) == 1 else None
    answers = {_function_takes(node, keyword) if isinstance(node, FUNCTIONS) else None for node in found.nodes}
    return True if True in answers else None if None in answers or not answers or _is_imported(there, found) else False


def _is_imported(there: Upstream, found: ResolvedSymbol) -> bool:
    """Return whether a name may stand for what its module imports, too: the other branch of a ``try``."""
    return any(one.kind == "import" for one in there.model.classes.definitions(found.origin))


def _constructor_takes(there: Upstream, found: ResolvedSymbol, keyword: str) -> bool | None:
    made = constructor(there.model.classes, found.origin)
    if made is None or _is_imported(there, found):
        return None
    return keyword in made if isinstance(made, frozenset) else _function_takes(made, keyword)


def _function_takes(node: FunctionNode, keyword: str) -> bool | None:
    arguments = node.args
    if arguments.kwarg or any(one.arg == keyword for one in (*arguments.args, *arguments.kwonlyargs)):
        return True
    return False if all(map(_is_transparent, node.decorator_list)) else None


def _is_transparent(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _TRANSPARENT
