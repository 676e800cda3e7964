"""Local names: name in a function → whether the function binds it, and the class of its value."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.functions import first_parameter
from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Binding, Scope
from npu_overlays.model.signatures import parameters
from npu_overlays.model.syntax import all_of, is_name, nodes_of


class FunctionNames:
    """The names in a function, in all of its scopes, and what they stand for."""

    def __init__(self, function: FunctionNode) -> None:
        self._scopes = read_scopes(ast.Module(body=[function], type_ignores=[])).all
        self._parameters = [one.node for one in parameters(function.args)]

    @property
    def all(self) -> frozenset[str]:
        """Every name that the function binds, declares or reads."""
        found: set[str] = set()
        for scope in self._scopes:
            found.update(scope.bindings, scope.outer, (load.name for load in scope.loads))
        return frozenset(found)

    @property
    def bound(self) -> frozenset[str]:
        """Every name that a scope of the function binds or declares."""
        found: set[str] = set()
        for scope in self._scopes:
            found.update(scope.bindings, scope.outer)
        return frozenset(found)

    def is_only_parameter(self, name: str) -> bool:
        """Return whether a name stands for a parameter wherever the function has it.

        It is bound by the parameter and by assignments alone, so its `ast.Name` nodes are all of its uses.
        """
        return all(self._is_parameter_in(scope, name) for scope in self._scopes)

    def _is_parameter_in(self, scope: Scope, name: str) -> bool:
        bindings, owner = scope.bindings.get(name, []), scope.owner(name)
        has_it = bool(bindings) or any(load.name == name for load in scope.loads)
        is_own = any(one.node in self._parameters for one in owner.bindings.get(name, []))
        return name not in scope.outer and (not has_it or (is_own and all(map(self._is_plain, bindings))))

    def _is_plain(self, binding: Binding) -> bool:
        return isinstance(binding.node, ast.Name) or binding.node in self._parameters


def is_local(name: str, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a function around binds a name, not counting imports."""
    for function in outer:
        if isinstance(function, FUNCTIONS):
            for node in nodes_of(function):
                if (isinstance(node, ast.arg) and node.arg == name) or _binds(node, name):
                    return True
    return False


def is_self(asked: ast.Name, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a name is certainly the ``self`` or ``cls`` of the method around it."""
    functions = [one for one in outer if isinstance(one, FUNCTIONS)]
    if not functions or asked.id != first_parameter(functions[0]) or _is_narrowed(asked.id, functions[0]):
        return False
    for node in nodes_of(functions[0]):
        if _binds(node, asked.id):
            return False
    for function in functions[1:]:
        for parameter in (*function.args.posonlyargs, *function.args.args):
            if parameter.arg == asked.id:
                return False
    return True


def class_of_local(name: str, outer: tuple[ast.stmt, ...]) -> ast.expr | None:
    """Return the class of a local variable that is bound once: a parameter's annotation, or the class it is made by."""
    function = outer[-1] if outer else None
    if not isinstance(function, FUNCTIONS) or _is_narrowed(name, function):
        return None
    classes: list[ast.expr | None] = []
    for parameter in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
        if parameter.arg == name:
            classes.append(_annotated_class(parameter.annotation))
    assigned: set[ast.expr] = set()
    for node in all_of(function, ast.Assign):
        named = [target for target in node.targets if is_name(target, name)]
        assigned.update(named)
        if named:
            classes.append(node.value.func if isinstance(node.value, ast.Call) else None)
    otherwise = [node for node in nodes_of(function) if _binds(node, name) and node not in assigned]
    return classes[0] if len(classes) == 1 and not otherwise else None


def _is_narrowed(name: str, function: FunctionNode) -> bool:
    """Return whether a function tests a variable's class, so that its annotation is not certain."""
    for call in all_of(function, ast.Call):
        if call.args and is_name(call.func, "isinstance") and ast.unparse(call.args[0]) == name:
            return True
    return False


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _annotated_class(node: ast.expr | None) -> ast.expr | None:
    """Return the class that an annotation names, also as a string; `C` for ``C | None`` and ``Optional[C]``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _annotated_class(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.BinOp):
        classes = [side for side in (node.left, node.right) if not isinstance(side, ast.Constant)]
        return classes[0] if classes else None
    if isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Optional":
        return node.slice
    return node
