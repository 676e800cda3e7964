"""Makers: class → whether something else than its own text names may give it, or its objects, a member."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.symbols import Symbol

_SETTING = re.compile(r"\bsetattr\(|__setattr__\(|\bvars\(|\.__dict__\b")
_BINDING = re.compile(r"\b(?:locals|vars|exec)\(")
_MAKING = re.compile(_SETTING.pattern + r"|\btype\(|\bclass\s")
# Decorators and metaclasses that give a class nothing that its code asks for by name.
_GIVING_NOTHING = frozenset(
    {"dataclass", "s", "attrs", "define", "frozen", "mutable", "final", "runtime_checkable", "unique"}
    | {"deprecated", "ABCMeta", "EnumMeta", "EnumType", "type"}
)
_ASKING = frozenset({"getattr", "hasattr", "delattr"})


def may_have_dynamic_member(graph: ClassGraph, symbol: Symbol, name: str, *, bound: bool) -> bool:
    """Return whether a class may have a member of which its text does not say so.

    Args:
        graph: the classes of the tree.
        symbol: the class; its bases of the tree are looked at too.
        name: the member.
        bound: whether a class has it, and not its objects alone.
    """
    found = ((one, node) for one in graph.line(symbol) if (node := graph.node(one)))
    return any(
        _is_made(graph, one, node, name) or (not bound and _sets(graph, one.path, node, name)) for one, node in found
    )


def _is_made(graph: ClassGraph, symbol: Symbol, node: ast.ClassDef, name: str) -> bool:
    """Return whether a decorator, a metaclass, the class's body or its module may give a class a member."""
    makers = [*node.decorator_list, *(one.value for one in node.keywords if one.arg == "metaclass")]
    own = (ast.unparse(one) for one in node.body if not isinstance(one, (*FUNCTIONS, ast.ClassDef)))
    return (
        any(_gives(graph, symbol.path, one, name) for one in makers)
        or any(map(_BINDING.search, own))
        or any(_is_set_on(one, symbol.name, name) for one in _outside(graph, symbol.path))
    )


def _gives(graph: ClassGraph, path: str, maker: ast.expr, name: str) -> bool:
    """Return whether what makes a class may give it a member: one that is of this tree has to say so."""
    called = maker.func if isinstance(maker, ast.Call) else maker
    if ast.unparse(called).rpartition(".")[2] in _GIVING_NOTHING:
        return False
    text = graph.source(path, called)
    return text is None or bool(_MAKING.search(text) or re.search(rf"\b{re.escape(name)}\b", text))


def _outside(graph: ClassGraph, path: str) -> Iterator[ast.Call]:
    """Yield the calls that a module makes while it is imported, outside functions and classes."""
    module = graph.module(path)
    for one in module.tree.body if module else ():
        if not isinstance(one, (*FUNCTIONS, ast.ClassDef)):
            yield from (inner for inner in ast.walk(one) if isinstance(inner, ast.Call))


def _is_set_on(call: ast.Call, symbol: str, name: str) -> bool:
    """Return whether a call is ``setattr`` of a class, of the member or of what is not written out."""
    given = call.args if getattr(call.func, "id", "") == "setattr" else []
    known = [getattr(one, "value", name) for one in given[1:2] if isinstance(one, ast.Constant)] or [name]
    return bool(given) and ast.unparse(given[0]) == symbol and known == [name]


def _sets(graph: ClassGraph, path: str, node: ast.ClassDef, name: str) -> bool:
    """Return whether a method of a class may set an attribute that its text does not name as one.

    It does so itself, hands the object to a function of the tree that does, or hands the name to somebody.
    """
    if _SETTING.search(ast.unparse(node)):
        return True
    for method in (one for one in node.body if isinstance(one, FUNCTIONS)):
        own = first_parameter(method)
        for call in (one for one in ast.walk(method) if isinstance(one, ast.Call)):
            arguments = [*call.args, *(one.value for one in call.keywords)]
            told = any(getattr(one, "value", None) == name for one in arguments if isinstance(one, ast.Constant))
            if told and ast.unparse(call.func).rpartition(".")[2] not in _ASKING:
                return True
            handed = any(getattr(one, "id", "") == own for one in arguments)
            if handed and _SETTING.search(graph.source(path, call.func) or ""):
                return True
    return False
