"""Classes: function of a class or module → what calls it before there is a class or a wrapper around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.functions import outer_parts, own_nodes
from npu_overlays.model.module import Module

# The machinery calls these while the class body runs.
_EARLY = frozenset({"_generate_next_value_", "__prepare__"})
# What makes a member of a function, and does not call it.
_MEMBERS = frozenset({"staticmethod", "classmethod", "property", "cached_property", "partialmethod"})


def is_stub(node: ast.stmt) -> bool:
    """Return whether a function has no body: ``...``, ``pass`` or a docstring alone."""
    body = [one.value if isinstance(one, ast.Expr) else one for one in getattr(node, "body", [])]
    return all(isinstance(one, (ast.Constant, ast.Pass)) for one in body)


def called_early(module: Module, definition: Definition) -> bool:
    """Return whether a class body may call one of its own functions, before there is a class.

    That is wherever it names the function other than to give it another name, or to make a member of it.
    """
    if definition.leaf in _EARLY:
        return True
    scopes = module.scopes.classes.get(definition.parent, []) if definition.parent else []
    if not any(load.name == definition.leaf for scope in scopes for load in scope.loads):
        return False
    bodies = [statement for owner in module.definitions[definition.parent] for statement in body(owner.node)]
    names = {definition.leaf}
    for statement in bodies:
        if isinstance(statement, ast.Assign) and _stands_for(statement.value, names):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return any(_is_used(statement, names) for statement in bodies)


def running_early(module: Module) -> Iterator[ast.stmt]:
    """Yield what a class body may call of its own: its functions, those of them that are globals, classes in it."""
    for parent, scopes in module.scopes.classes.items():
        loads = [load for scope in scopes for load in scope.loads]
        called = {load.name for load in loads if load.called}
        kept = {name for scope in scopes for name in scope.outer}
        named = {load.name for load in loads} | kept | _EARLY
        for definition in (one for leaf in named for one in module.definitions.get(f"{parent}.{leaf}", [])):
            if definition.kind == "class":
                early = definition.leaf in called
            else:
                early = definition.leaf in kept or called_early(module, definition)
            if early:
                yield definition.node


def body(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements of a class; of anything else none."""
    return node.body if isinstance(node, ast.ClassDef) else []


def _stands_for(value: ast.expr, names: set[str]) -> bool:
    """Return whether a value is one of some functions, or a member that is made of some."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _MEMBERS:
        return all(_stands_for(one, names) for one in value.args if isinstance(one, ast.Name))
    return isinstance(value, ast.Name) and value.id in names


def calling_decorator(module: Module, definition: Definition) -> str:
    """Return the decorator of a function that calls it at once, before the original below it is there; or nothing."""
    for decorator in getattr(definition.node, "decorator_list", []):
        made = isinstance(decorator, ast.Call)
        name = decorator.func if made else decorator
        for known in module.definitions.get(name.id, []) if isinstance(name, ast.Name) else ():
            functions = [known.node] if isinstance(known.node, FUNCTIONS) else []
            if made:  # what a maker of decorators returns is one of the functions inside it
                functions = [inner for one in functions for inner in one.body if isinstance(inner, FUNCTIONS)]
            if any(_calls_its_argument(one) for one in functions):
                return ast.unparse(name)
    return ""


def _calls_its_argument(function: FunctionNode) -> bool:
    first = [one.arg for one in (*function.args.posonlyargs, *function.args.args)][:1]
    calls = (node.func for node in own_nodes(function) if isinstance(node, ast.Call))
    return any(isinstance(called, ast.Name) and called.id in first for called in calls)


def _is_used(statement: ast.stmt, names: set[str]) -> bool:
    """Return whether what a statement of a class body runs there may call one of some functions."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assign) and _stands_for(node.value, names):
            continue
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            return True
        accessors = [one for one in getattr(node, "decorator_list", []) if _is_accessor(one)]
        pending += [one for one in outer_parts(node) if one not in accessors]
    return False


def _is_accessor(decorator: ast.expr) -> bool:
    """Return whether a decorator is an attribute of a name, as ``@size.setter`` and ``@convert.register`` are."""
    return isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name)
