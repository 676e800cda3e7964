"""Dynamic members: class → whether it, or its objects, may have a member that no text names."""

from __future__ import annotations

import ast
import re

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, methods
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.symbols import Symbol
from npu_overlays.model.syntax import all_of, call_arguments, called, is_name

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
    """Return whether a class may have a member that its text does not name.

    Args:
        graph: the classes of the tree.
        symbol: the class; bases in the tree count too.
        name: the member.
        bound: whether the class itself must have it, and not only its objects.
    """
    for one in graph.line(symbol):
        node = graph.node(one)
        if node and (_is_given(graph, one, node, name) or (not bound and _sets(graph, one.path, node, name))):
            return True
    return False


def _is_given(graph: ClassGraph, symbol: Symbol, node: ast.ClassDef, name: str) -> bool:
    """Return whether a decorator, a metaclass, the body or the module may add the member to a class."""
    makers = [*node.decorator_list, *(one.value for one in node.keywords if one.arg == "metaclass")]
    if any(_maker_gives(graph, symbol.path, maker, name) for maker in makers):
        return True
    for statement in _run_at_once(node.body):
        if _BINDING.search(ast.unparse(statement)):
            return True
    module = graph.module(symbol.path)
    statements = _run_at_once(module.tree.body) if module else []
    for statement in statements:
        if any(_is_set_on(call, symbol.name, name) for call in all_of(statement, ast.Call)):
            return True
    return False


def _run_at_once(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return the statements of a module or a class that are neither functions nor classes."""
    return [one for one in body if not isinstance(one, (*FUNCTIONS, ast.ClassDef))]


def _maker_gives(graph: ClassGraph, path: str, maker: ast.expr, name: str) -> bool:
    """Return whether a decorator or metaclass may add a member; one in this tree must name it."""
    if ast.unparse(called(maker)).rpartition(".")[2] in _GIVING_NOTHING:
        return False
    text = graph.source(path, called(maker))
    return text is None or bool(_MAKING.search(text) or re.search(rf"\b{re.escape(name)}\b", text))


def _is_set_on(call: ast.Call, symbol: str, name: str) -> bool:
    """Return whether a call is ``setattr`` of a class, with the member's name or a computed one."""
    if not is_name(call.func, "setattr") or not call.args or ast.unparse(call.args[0]) != symbol:
        return False
    member = call.args[1] if call.args[1:] else None
    return not isinstance(member, ast.Constant) or member.value == name


def _sets(graph: ClassGraph, path: str, node: ast.ClassDef, name: str) -> bool:
    """Return whether a method of a class may set an attribute that its text does not name."""
    return bool(_SETTING.search(ast.unparse(node))) or any(
        _method_sets(graph, path, method, name) for method in methods(node)
    )


def _method_sets(graph: ClassGraph, path: str, method: FunctionNode, name: str) -> bool:
    """Return whether a method passes ``self`` to a function that sets attributes, or a name to any function."""
    own = first_parameter(method)
    for call in all_of(method, ast.Call):
        arguments = call_arguments(call)
        is_named = any(isinstance(one, ast.Constant) and one.value == name for one in arguments)
        if is_named and ast.unparse(call.func).rpartition(".")[2] not in _ASKING:
            return True
        is_handed_on = any(getattr(one, "id", "") == own for one in arguments)
        if is_handed_on and _SETTING.search(graph.source(path, call.func) or ""):
            return True
    return False
