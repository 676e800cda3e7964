"""Early calls: function of a class or module → the calls of it before its class or its wrapper exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.functions import first_parameter, outer_parts, own_nodes
from npu_overlays.model.module import Module
from npu_overlays.model.syntax import called, is_name

# The machinery calls these while the class body runs.
_EARLY = frozenset({"_generate_next_value_", "__prepare__"})
# What makes a member of a function, and does not call it.
_MEMBERS = frozenset({"staticmethod", "classmethod", "property", "cached_property", "partialmethod"})


def is_stub(node: ast.stmt) -> bool:
    """Return whether a function has no body: ``...``, ``pass`` or a docstring alone."""
    body = [one.value if isinstance(one, ast.Expr) else one for one in getattr(node, "body", [])]
    return all(isinstance(one, (ast.Constant, ast.Pass)) for one in body)


def called_early(module: Module, definition: Definition) -> bool:
    """Return whether a class body may call one of its own functions, before the class exists.

    Any mention counts, except giving the function another name or making a member of it.
    """
    if definition.leaf in _EARLY:
        return True
    scopes = module.outer_scopes.classes.get(definition.parent, []) if definition.parent else []
    loads = chain.from_iterable(scope.loads for scope in scopes)
    if not any(load.name == definition.leaf for load in loads):
        return False
    statements = list(chain.from_iterable(body(owner.node) for owner in module.definitions[definition.parent]))
    names = {definition.leaf}
    for statement in statements:
        if isinstance(statement, ast.Assign) and _stands_for(statement.value, names):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return any(_is_used(statement, names) for statement in statements)


def running_early(module: Module) -> Iterator[ast.stmt]:
    """Yield the definitions that run while the module is imported.

    These are functions that a decorator calls at once, and functions that their class body may call.
    """
    for definition in chain.from_iterable(module.definitions.values()):
        if calling_decorator(module, definition):
            yield definition.node
    for parent, scopes in module.outer_scopes.classes.items():
        kept: set[str] = set()
        is_called: dict[str, bool] = dict.fromkeys(_EARLY, False)
        for scope in scopes:
            kept.update(scope.outer)
            for load in scope.loads:
                is_called[load.name] = is_called.get(load.name, False) or load.called
        for leaf in is_called.keys() | kept:
            for definition in module.definitions.get(f"{parent}.{leaf}", []):
                if definition.kind == "class":
                    early = is_called.get(leaf, False)
                else:
                    early = leaf in kept or called_early(module, definition)
                if early:
                    yield definition.node


def body(node: ast.stmt) -> list[ast.stmt]:
    """Return the statements of a class; nothing for any other node."""
    return node.body if isinstance(node, ast.ClassDef) else []


def _stands_for(value: ast.expr, names: set[str]) -> bool:
    """Return whether a value is one of some functions, or a member made from them."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _MEMBERS:
        return all(_stands_for(one, names) for one in value.args if isinstance(one, ast.Name))
    return isinstance(value, ast.Name) and value.id in names


def calling_decorator(module: Module, definition: Definition) -> str:
    """Return the decorator that calls a function at once, before the original below it exists, or an empty text."""
    for decorator in getattr(definition.node, "decorator_list", []):
        name = called(decorator)
        if not isinstance(name, ast.Name):
            continue
        for known in module.definitions.get(name.id, []):
            # What a maker of decorators returns is one of the functions inside it.
            functions = known.node.body if name is not decorator and isinstance(known.node, FUNCTIONS) else [known.node]
            if any(isinstance(one, FUNCTIONS) and _calls_its_argument(one) for one in functions):
                return name.id
    return ""


def _calls_its_argument(function: FunctionNode) -> bool:
    first = first_parameter(function)
    return any(isinstance(node, ast.Call) and is_name(node.func, first) for node in own_nodes(function))


def _is_used(statement: ast.stmt, names: set[str]) -> bool:
    """Return whether a statement of a class body may call one of some functions when it runs."""
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assign) and _stands_for(node.value, names):
            continue
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
            return True
        accessors = list(filter(_is_accessor, getattr(node, "decorator_list", [])))
        pending += [one for one in outer_parts(node) if one not in accessors]
    return False


def _is_accessor(decorator: ast.expr) -> bool:
    """Return whether a decorator is an attribute of a name, as ``@size.setter`` and ``@convert.register`` are."""
    return isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name)
