"""Settings: class → the attributes that its methods give to their objects, and from what."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_overlays.model.attribute_chains import Chain, chains, root_of
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, blocks
from npu_overlays.model.fingerprint import brief
from npu_overlays.model.free_names import FreeNames
from npu_overlays.model.functions import first_parameter, own_nodes
from npu_overlays.model.signatures import parameters

# What gives an object an attribute by its name: of Python, and of torch.nn.Module.
_SETTING = frozenset({"setattr", "__setattr__"})
_REGISTERING = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
# Behind the object and the name stands the value.
_VALUE = 2


@dataclass(frozen=True, kw_only=True)
class GivenValue:
    """One expression that gives a symbol its value.

    Args:
        node: the expression.
        names: what the names mean where it stands in a method; None where all are the module's.
        beside: what gives the method's own names in it their values, each with its name.
        sometimes: whether it stands under a condition, and nothing gives the symbol a value otherwise.
    """

    node: ast.expr
    names: FreeNames | None = None
    beside: tuple[tuple[str, ast.expr], ...] = ()
    sometimes: bool = False

    def __str__(self) -> str:
        """Return it as text to read, which is the same on every Python."""
        where = ", ".join(f"{name} = {brief(node)}" for name, node in self.beside)
        return f"{'sometimes ' * self.sometimes}{brief(self.node)}{f' where {where}' * bool(where)}"

    def chains(self) -> Iterator[Chain]:
        """Yield what it reads of its module."""
        for chain, node in chains(self.node, *(one for _, one in self.beside)):
            root = root_of(node)
            if self.names is None or (isinstance(root, ast.Name) and self.names.is_outer(root)):
                yield chain


def attribute_values(classes: Iterable[ast.ClassDef]) -> dict[str, list[GivenValue]]:
    """Return what the methods of a class give to ``self``, by name; of several definitions of it all they do."""
    found: dict[str, list[GivenValue]] = {}
    for method in (one for node in classes for one in node.body if isinstance(one, FUNCTIONS)):
        for name, value in _of_method(method):
            found.setdefault(name, []).append(value)
    return found


def _of_method(method: FunctionNode) -> Iterator[tuple[str, GivenValue]]:
    given = list(_given(method, first_parameter(method)))
    if not given:
        return
    names = FreeNames(ast.Module(body=[method], type_ignores=[]))
    always = _always(method.body, first_parameter(method))
    local = _locals(method)
    for name, node in given:
        beside = tuple(_beside(node, local))
        yield name, GivenValue(node=node, names=names, beside=beside, sometimes=name not in always)


def _locals(method: FunctionNode) -> dict[str, list[ast.expr]]:
    """Return what gives each name of a method's its value: defaults of parameters, and assignments."""
    found = {one.name: [one.default] for one in parameters(method.args) if one.default}
    statements = (node for node in own_nodes(method) if not isinstance(node, ast.comprehension))
    for target, value in (pair for node in statements for pair in _bound(node)):
        for one in ast.walk(target):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                found.setdefault(one.id, []).append(value)
    return found


def _beside(node: ast.expr, local: Mapping[str, list[ast.expr]]) -> Iterator[tuple[str, ast.expr]]:
    """Yield what the names in an expression have their values from, and the names in that."""
    pending, seen = [node], set()
    while pending:
        for one in ast.walk(pending.pop(0)):
            if isinstance(one, ast.Name) and one.id not in seen:
                seen.add(one.id)
                yield from ((one.id, value) for value in local.get(one.id, []))
                pending += local.get(one.id, [])


def _always(body: Sequence[ast.stmt], first: str) -> set[str]:
    """Return the attributes that statements give to a parameter whichever way they go."""
    found: set[str] = set()
    for node in body:
        branches = [block for _, block in blocks(node)]
        if isinstance(node, ast.If):
            ends = [one for one in (node.body, node.orelse) if not one or not isinstance(one[-1], ast.Raise)]
            found |= set.intersection(*(_always(one, first) for one in ends)) if ends else set()
        elif isinstance(node, (ast.With, ast.Try)):
            found |= {name for one in branches for name in _always(one, first)}
        elif not branches:
            found |= {name for name, _ in _given(node, first)}
        found |= {one for target, _ in _bound(node) for one in _stored(target, first)}
    return found


def _given(method: ast.AST, first: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that a method gives to its first parameter, with their values."""
    for node in ast.walk(method) if first else ():
        for target, value in _bound(node):
            yield from ((name, value) for name in _stored(target, first))
        if isinstance(node, ast.Call):
            yield from _named(node, first)


def _stored(target: ast.expr, first: str) -> Iterator[str]:
    """Yield the attributes of a parameter that a target gives a value."""
    for one in ast.walk(target):
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and _is(one.value, first):
            yield one.attr


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
