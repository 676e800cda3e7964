"""Class cells: classes whose metaclass removes ``__classcell__``, so that no method can use `super()`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.constructors import metaclasses
from npu_overlays.model.symbols import Symbol
from npu_overlays.model.syntax import all_of, is_name, nodes_of

_CELL = "__classcell__"
# The names in a method that need the cell.
_READERS = ("__class__", "super")
# The arguments of a metaclass's `__new__`: itself, the name, the bases and the namespace.
_NAMESPACE = 3


def lacks_cell(graph: ClassGraph, symbol: Symbol) -> bool:
    """Return whether Python refuses a class of the tree as soon as one of its methods uses ``__class__``.

    It does if the metaclass makes the class without the ``__classcell__`` that it is given. A class that uses one
    upstream shows that its metaclass passes it on.
    """
    line = [one for one in graph.line(symbol) if metaclasses(graph, graph.line(one))]
    makers = {maker for one in line for maker in metaclasses(graph, graph.line(one))}
    if not any(_drops_cell(known.node) for one in makers for known in graph.definitions(one.member("__new__"))):
        return False
    return not any(cell_users(graph.node(one)) for one in line)


def cell_users(node: ast.ClassDef | None) -> list[str]:
    """Return the names of the functions in a class's own body that use its cell."""
    found = node.body if node else []
    functions = [one for one in found if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [one.name for one in functions if _reads_cell(one)]


def _reads_cell(function: ast.stmt) -> bool:
    """Return whether a method, or a function in it, uses the cell of its class; inner classes have their own."""
    inside = nodes_of(function, lambda one: not isinstance(one, ast.ClassDef))
    return any(is_name(node, name) for node in inside for name in _READERS)


def _drops_cell(maker: ast.stmt) -> bool:
    """Return whether the ``__new__`` of a metaclass may make its class without the cell that it is given."""
    if not isinstance(maker, ast.FunctionDef) or len(maker.args.args) <= _NAMESPACE:
        return False
    nodes = nodes_of(maker)
    if any(isinstance(node, ast.Constant) and node.value == _CELL for node in nodes):
        return any(_takes_cell_out(node) for node in nodes)
    own = maker.args.args[_NAMESPACE].arg
    return any(not _holds(given, own, nodes) for given in map(_namespace, all_of(maker, ast.Call)) if given)


def _takes_cell_out(node: ast.AST) -> bool:
    """Return whether a statement removes the cell and keeps no hold of it."""
    removes = isinstance(node, ast.Delete) or (isinstance(node, ast.Expr) and ".pop(" in ast.unparse(node.value))
    return removes and any(one.value == _CELL for one in all_of(node, ast.Constant))


def _namespace(call: ast.Call) -> ast.expr | None:
    """Return what a call that makes a class gives as its namespace."""
    makes = isinstance(call.func, ast.Attribute) and call.func.attr == "__new__"
    return call.args[_NAMESPACE] if makes and len(call.args) > _NAMESPACE else None


def _holds(given: ast.expr, own: str, nodes: Iterable[ast.AST]) -> bool:
    """Return whether a namespace certainly has everything of a metaclass's own parameter."""
    if isinstance(given, ast.Name) and given.id != own:
        values = [node.value for node in nodes if isinstance(node, ast.Assign) and is_name(node.targets[0], given.id)]
        return any(_mentions_whole(value, own) for value in values)
    return _mentions_whole(given, own)


def _mentions_whole(value: ast.expr, own: str) -> bool:
    """Return whether a value mentions a dictionary other than in a comprehension, which may leave names out."""
    inside = nodes_of(value, lambda one: not isinstance(one, (ast.DictComp, ast.GeneratorExp, ast.ListComp)))
    return not isinstance(value, ast.DictComp) and any(is_name(node, own) for node in inside)
