"""Instances: what the objects of a class have of their own, so that they never reach into the class for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.syntax.definitions import FunctionNode
from npu_overlays.syntax.symbols import Module

# They run for every instance.
_MAKING = ("__init__", "__post_init__", "__setstate__")


def hiding(module: Module, owner: str, name: str, *, always: bool) -> int:
    """Return the line on which the objects of a class get an attribute of their own, or 0.

    Args:
        module: upstream's.
        owner: qualified name of the class; those of its bases that stand in the module are looked at too.
        name: the attribute.
        always: whether an assignment in any method counts; otherwise only what runs for every object: a value of the
            class may well serve until a method sets another.
    """
    for node in _family(module, owner):
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if always or statement.name in _MAKING:
                    for line in _set(statement, name):
                        return line
            elif name in _slots(statement):
                return statement.lineno
    return 0


def _family(module: Module, owner: str) -> Iterator[ast.ClassDef]:
    """Yield the class and those of its bases that are defined at the module's own level."""
    pending, seen = [owner], set()
    while pending:
        symbol = pending.pop()
        for definition in module.definitions.get(symbol, []) if symbol not in seen else []:
            if isinstance(definition.node, ast.ClassDef):
                yield definition.node
                pending += [base.id for base in definition.node.bases if isinstance(base, ast.Name)]
        seen.add(symbol)


def _set(method: FunctionNode, name: str) -> Iterator[int]:
    """Yield the lines on which a method sets an attribute of its first parameter."""
    first = [*method.args.posonlyargs, *method.args.args][:1]
    for node in ast.walk(method) if first else []:
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
            target: ast.expr = node.value
        elif isinstance(node, ast.Call) and _is_setattr(node, name):
            target = node.args[0]
        else:
            continue
        if isinstance(target, ast.Name) and target.id == first[0].arg:
            yield node.lineno


def _is_setattr(call: ast.Call, name: str) -> bool:
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    named = call.args[1:2]
    return function in ("setattr", "__setattr__") and [getattr(one, "value", None) for one in named] == [name]


def _slots(statement: ast.stmt) -> set[object]:
    """Return the names a class reserves by ``__slots__``."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if any(isinstance(target, ast.Name) and target.id == "__slots__" for target in targets):
            return {part.value for part in ast.walk(statement.value) if isinstance(part, ast.Constant)}
    return set()
