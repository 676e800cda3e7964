"""Classes: those whose machinery meets what an overlay puts into them, and what each of them forbids."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.syntax.aliases import full_names
from npu_overlays.syntax.definitions import Definition
from npu_overlays.syntax.functions import outer_parts
from npu_overlays.syntax.symbols import Module

# typing.NamedTuple copies methods to another class and never fills __class__; a TypedDict is a plain dict when it runs;
# to a Protocol, every name in the class is something its implementations must have.
_CLOSED = ("NamedTuple", "Protocol", "TypedDict")
# The machinery calls these while the class body runs.
_EARLY = frozenset({"_generate_next_value_", "__prepare__"})
_CALLING = frozenset({"map", "filter", "sorted", "min", "max", "reduce"})
_HARMLESS_METACLASSES = frozenset({"ABCMeta", "EnumMeta", "EnumType"})


def closed_kind(module: Module, owner: str) -> str:
    """Return which of the closed kinds a class derives from, or an empty text."""
    named = {name.rpartition(".")[2] for base in _bases(module, owner) for name in full_names(module, base)}
    return next((kind for kind in _CLOSED if kind in named), "")


def _bases(module: Module, owner: str) -> Iterator[ast.expr]:
    for definition in module.definitions.get(owner, []):
        yield from getattr(definition.node, "bases", [])


def called_early(module: Module, definition: Definition) -> int:
    """Return the line on which a class body calls one of its own functions, before there is a class; or 0."""
    name = definition.name.rpartition(".")[2]
    owners = [owner.node for owner in module.definitions.get(definition.parent, []) if definition.parent]
    bodies = [statement for owner in owners for statement in getattr(owner, "body", [])]
    if name in _EARLY:
        return definition.node.lineno
    return next((line for statement in bodies for line in _calls(statement, name)), 0)


def _calls(statement: ast.AST, name: str) -> Iterator[int]:
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
        yield from (one.lineno for one in called if isinstance(one, ast.Name) and one.id == name)


def _callee(node: ast.Call) -> ast.expr:
    """Return what is called, for ``f.__func__(…)`` f itself."""
    through = isinstance(node.func, ast.Attribute) and node.func.attr in ("__func__", "__call__", "__wrapped__")
    return node.func.value if through else node.func  # type: ignore[attr-defined]  # an Attribute, as just asked


def onlookers(module: Module, owner: str) -> list[str]:
    """Return what may look at every name in a class's body: metaclass, keywords, ``__init_subclass__`` of a base."""
    found = []
    for definition in module.definitions.get(owner, []):
        for keyword in getattr(definition.node, "keywords", []):
            leaves = {name.rpartition(".")[2] for name in full_names(module, keyword.value)}
            if keyword.arg != "metaclass" or not leaves or leaves - _HARMLESS_METACLASSES:
                found.append(f"{keyword.arg}={ast.unparse(keyword.value)}")
        for base in getattr(definition.node, "bases", []):
            if isinstance(base, ast.Name) and f"{base.id}.__init_subclass__" in module.definitions:
                found.append(f"{base.id}.__init_subclass__")
    return sorted(found)
