"""Settings: class → the attributes that its methods give to their objects, and from what."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.reads.chains import Chain, chains, first_parameter, root_of
from npu_overlays.reads.names import Names
from npu_overlays.syntax.definitions import FUNCTIONS

# What gives an object an attribute by its name: of Python, and of torch.nn.Module.
_SETTING = frozenset({"setattr", "__setattr__"})
_REGISTERING = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
# Behind the object and the name stands the value.
_VALUE = 2


@dataclass(frozen=True, kw_only=True)
class Value:
    """One expression that gives a symbol its value.

    Args:
        node: the expression.
        names: what the names mean where it stands in a method; None where all are the module's.
    """

    node: ast.expr
    names: Names | None = None

    def chains(self) -> Iterator[Chain]:
        """Yield what it reads of its module."""
        for chain, node in chains(self.node):
            root = root_of(node)
            if self.names is None or (isinstance(root, ast.Name) and self.names.is_outer(root)):
                yield chain


def settings(classes: Iterable[ast.ClassDef]) -> dict[str, list[Value]]:
    """Return what the methods of a class give to ``self``, by name; of several definitions of it all they do."""
    found: dict[str, list[Value]] = {}
    for method in (one for node in classes for one in node.body if isinstance(one, FUNCTIONS)):
        given = list(_given(method, first_parameter(method)))
        names = Names(ast.Module(body=[method], type_ignores=[])) if given else None
        for name, node in given:
            found.setdefault(name, []).append(Value(node=node, names=names))
    return found


def _given(method: ast.AST, first: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that a method gives to its first parameter, with their values."""
    for node in ast.walk(method) if first else ():
        for target, value in _bound(node):
            stored = (one for one in ast.walk(target) if isinstance(getattr(one, "ctx", None), ast.Store))
            yield from ((one.attr, value) for one in stored if isinstance(one, ast.Attribute) and _is(one.value, first))
        if isinstance(node, ast.Call):
            yield from _named(node, first)


def _bound(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what a statement binds, and what that gets its value from."""
    if isinstance(node, ast.Assign):
        yield from ((target, node.value) for target in node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)) and node.value:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars:
        yield node.optional_vars, node.context_expr


def _named(call: ast.Call, first: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attribute that a call gives to an object by its name, with its value."""
    leaf = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [*call.args, *(one.value for one in call.keywords)]
    if leaf in _REGISTERING and isinstance(call.func, ast.Attribute):
        given.insert(0, call.func.value)
    if leaf in _SETTING | _REGISTERING and len(given) > _VALUE and _is(given[0], first):
        name = given[1].value if isinstance(given[1], ast.Constant) else None
        yield from [(name, given[_VALUE])] if isinstance(name, str) else []


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
