"""Early calls: function of a class or module → what calls it before there is a class or a wrapper around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.functions import outer_parts, own_nodes
from npu_overlays.model.module import Module

# The machinery calls these while the class body runs.
_EARLY = frozenset({"_generate_next_value_", "__prepare__"})
_CALLING = frozenset({"map", "filter", "sorted", "min", "max", "reduce"})


def is_stub(node: ast.stmt) -> bool:
    """Return whether a function has no body: ``...``, ``pass`` or a docstring alone."""
    body = [one.value if isinstance(one, ast.Expr) else one for one in getattr(node, "body", [])]
    return all(isinstance(one, (ast.Constant, ast.Pass)) for one in body)


def called_early(module: Module, definition: Definition) -> int:
    """Return the line on which a class body calls one of its own functions, before there is a class; or 0."""
    name = definition.name.rpartition(".")[2]
    bodies: list[ast.stmt] = []
    if definition.parent:
        for owner in module.definitions.get(definition.parent, []):
            bodies += getattr(owner.node, "body", [])
    if name in _EARLY:
        return definition.node.lineno
    names = {name}
    for statement in bodies:
        if isinstance(statement, ast.Assign) and _stands_for(statement.value, names):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return next(chain.from_iterable(_calls(statement, names) for statement in bodies), 0)


def _stands_for(value: ast.expr, names: set[str]) -> bool:
    """Return whether a value is one of some functions, or that as a static or class method."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
        return value.func.id in ("staticmethod", "classmethod") and _stands_for(value.args[0], names)
    return isinstance(value, ast.Name) and value.id in names


def calling_decorator(module: Module, definition: Definition) -> str:
    """Return the decorator of a function that calls it at once, before the original below it is there; or nothing."""
    for decorator in getattr(definition.node, "decorator_list", []):
        made = isinstance(decorator, ast.Call)
        name = decorator.func if made else decorator
        if not isinstance(name, ast.Name):
            continue
        for known in module.definitions.get(name.id, []):
            if not isinstance(known.node, FUNCTIONS):
                continue
            # What a maker of decorators returns is one of the functions inside it.
            inside = [one for one in known.node.body if isinstance(one, FUNCTIONS)]
            if any(map(_calls_its_argument, inside if made else [known.node])):
                return ast.unparse(name)
    return ""


def _calls_its_argument(function: FunctionNode) -> bool:
    first = [one.arg for one in (*function.args.posonlyargs, *function.args.args)][:1]
    calls = (node.func for node in own_nodes(function) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in first for called in calls)


def _calls(statement: ast.AST, names: set[str]) -> Iterator[int]:
    pending = [statement]
    while pending:
        node = pending.pop()
        pending += outer_parts(node)
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        called: list[ast.expr] = [one for one in decorators if isinstance(one, ast.Name)]
        if isinstance(node, ast.Call):
            called.append(_callee(node))
            if isinstance(node.func, ast.Name) and node.func.id in _CALLING:
                called += [*node.args, *(keyword.value for keyword in node.keywords)]
        yield from (one.lineno for one in called if isinstance(one, ast.Name) and one.id in names)


def _callee(node: ast.Call) -> ast.expr:
    """Return what is called, for ``f.__func__(…)`` f itself."""
    through = isinstance(node.func, ast.Attribute) and node.func.attr in ("__func__", "__call__", "__wrapped__")
    return node.func.value if through else node.func  # type: ignore[attr-defined]  # an Attribute, as just asked
