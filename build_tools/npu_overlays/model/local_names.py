"""Local names: name in a function of a module → whether that binds it, and the class of what it stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.functions import first_parameter


def is_local(name: str, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a function around binds a name, by a parameter or otherwise than by an import."""
    every = (node for one in outer if isinstance(one, FUNCTIONS) for node in ast.walk(one))
    return any((isinstance(node, ast.arg) and node.arg == name) or _is_bound(node, name) for node in every)


def is_self(asked: ast.Name, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a name is the object or class of the method around it, and nothing else by any chance."""
    functions = [one for one in outer if isinstance(one, FUNCTIONS)]
    return (
        bool(functions)
        and asked.id == first_parameter(functions[0])
        and not _is_narrowed(asked.id, functions[0])
        and not any(_is_bound(one, asked.id) for one in ast.walk(functions[0]))
        and not any(asked.id in _parameters(one) for one in functions[1:])
    )


def _parameters(function: FunctionNode) -> list[str]:
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def made_by(name: str, outer: tuple[ast.stmt, ...]) -> ast.expr | None:
    """Return the class of a local variable: a parameter's annotation, or what it is made by, where only once bound."""
    function = outer[-1] if outer and isinstance(outer[-1], FUNCTIONS) else None
    if function is None:
        return None
    if _is_narrowed(name, function):
        return None
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    given = [_annotation(one.annotation) for one in every if one.arg == name]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(getattr(one, "id", "") == name for one in node.targets):
            given.append(node.value.func if isinstance(node.value, ast.Call) else None)
        elif _is_bound(node, name) and not _is_target(node, function):
            given.append(None)
    return given[0] if len(given) == 1 else None


def _is_narrowed(name: str, function: FunctionNode) -> bool:
    """Return whether a function asks of which class a variable is, so that it may be of another than is said."""
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call) and one.args)
    return any(getattr(one.func, "id", "") == "isinstance" and ast.unparse(one.args[0]) == name for one in calls)


def _is_bound(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _is_target(name: ast.AST, function: ast.AST) -> bool:
    assignments = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    return any(name in node.targets for node in assignments)


def _annotation(node: ast.expr | None) -> ast.expr | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _annotation(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.BinOp):  # of `C | None` the class
        return next((one for one in (node.left, node.right) if not isinstance(one, ast.Constant)), None)
    optional = isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Optional"
    return node.slice if optional and isinstance(node, ast.Subscript) else node
