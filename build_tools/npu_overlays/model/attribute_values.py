"""Attribute values: class → the attributes that its methods set on their objects, and the values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_overlays.model.attribute_chains import Chain, chains, root_of
from npu_overlays.model.definitions import FunctionNode, blocks, methods
from npu_overlays.model.fingerprint import brief
from npu_overlays.model.free_names import FreeNames
from npu_overlays.model.functions import first_parameter, own_nodes
from npu_overlays.model.signatures import parameters
from npu_overlays.model.syntax import all_of, call_arguments, is_name, last_name, nodes_of, targets

# What gives an object an attribute by its name: of Python, and of torch.nn.Module.
_SETTING = frozenset({"setattr", "__setattr__"})
_REGISTERING = frozenset({"register_buffer", "register_parameter", "register_module", "add_module"})
# Behind the object and the name stands the value.
_VALUE = 2


@dataclass(frozen=True, kw_only=True)
class GivenValue:
    """One expression that gives a symbol its value."""

    node: ast.expr
    names: FreeNames | None = None  # what the names mean where it stands in a method; None where all are the module's
    beside: tuple[tuple[str, ast.expr], ...] = ()  # what the method's own names in it have their values from
    sometimes: bool = False  # it stands under a condition, and nothing gives the symbol a value otherwise

    def __str__(self) -> str:
        """Return readable text, the same on every Python."""
        where = ", ".join(f"{name} = {brief(node)}" for name, node in self.beside)
        return f"{'sometimes ' * self.sometimes}{brief(self.node)}{f' where {where}' * bool(where)}"

    def chains(self) -> Iterator[Chain]:
        """Yield what it reads of its module."""
        for chain, node in chains(self.node, *(one for _, one in self.beside)):
            root = root_of(node)
            if self.names is None or (isinstance(root, ast.Name) and self.names.is_outer(root)):
                yield chain


def attribute_values(classes: Iterable[ast.ClassDef]) -> dict[str, list[GivenValue]]:
    """Return the values that methods of all definitions of a class set on ``self``, by name."""
    found: dict[str, list[GivenValue]] = {}
    for node in classes:
        for method in methods(node):
            for name, value in _of_method(method):
                found.setdefault(name, []).append(value)
    return found


def _of_method(method: FunctionNode) -> Iterator[tuple[str, GivenValue]]:
    first = first_parameter(method)
    given = list(_given_attributes(method, first)) if first else []
    if not given:
        return
    names = FreeNames(ast.Module(body=[method], type_ignores=[]))
    always = _always_given(method.body, first)
    local = _local_values(method)
    for name, node in given:
        beside = tuple(_beside(node, local))
        yield name, GivenValue(node=node, names=names, beside=beside, sometimes=name not in always)


def _local_values(method: FunctionNode) -> dict[str, list[ast.expr]]:
    """Return the expressions that give each local name of a method its value: defaults and assignments."""
    found: dict[str, list[ast.expr]] = {}
    for parameter in parameters(method.args):
        if parameter.default:
            found[parameter.name] = [parameter.default]
    for node in own_nodes(method):
        if isinstance(node, ast.comprehension):
            continue
        for target, value in _bound(node):
            for name in all_of(target, ast.Name):
                if isinstance(name.ctx, ast.Store):
                    found.setdefault(name.id, []).append(value)
    return found


def _beside(node: ast.expr, local: Mapping[str, list[ast.expr]]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the expressions behind the names in an expression, transitively."""
    pending, seen = [node], set()
    while pending:
        for one in all_of(pending.pop(0), ast.Name):
            if one.id not in seen:
                seen.add(one.id)
                for value in local.get(one.id, []):
                    pending.append(value)
                    yield one.id, value


def _always_given(body: Sequence[ast.stmt], first: str) -> set[str]:
    """Return the attributes that statements set on a parameter in every branch."""
    found: set[str] = set()
    for node in body:
        branches = [block for _, block in blocks(node)]
        if isinstance(node, ast.If):
            ends = [one for one in (node.body, node.orelse) if not one or not isinstance(one[-1], ast.Raise)]
            found |= set.intersection(*(_always_given(one, first) for one in ends)) if ends else set()
        elif isinstance(node, (ast.With, ast.Try)):
            for block in branches:
                found |= _always_given(block, first)
        elif not branches:
            found.update(name for name, _ in _given_attributes(node, first))
        for target, _ in _bound(node):
            found.update(_stored(target, first))
    return found


def _given_attributes(tree: ast.AST, first: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that a piece of code sets on a parameter, with their values."""
    for node in nodes_of(tree):
        for target, value in _bound(node):
            for name in _stored(target, first):
                yield name, value
        if isinstance(node, ast.Call):
            yield from _set_by_name(node, first)


def _stored(target: ast.expr, first: str) -> Iterator[str]:
    """Yield the attributes of a parameter that an assignment target sets."""
    for one in all_of(target, ast.Attribute):
        if isinstance(one.ctx, ast.Store) and is_name(one.value, first):
            yield one.attr


def _bound(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what a statement binds, with the expression it is bound to."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and node.value:
        for target in targets(node):
            yield target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars:
        yield node.optional_vars, node.context_expr


def _set_by_name(call: ast.Call, first: str) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attribute that a call such as ``setattr`` sets by name, with its value."""
    given = call_arguments(call)
    if isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTERING:
        given.insert(0, call.func.value)
    if last_name(call.func) in _SETTING | _REGISTERING and len(given) > _VALUE and is_name(given[0], first):
        name = given[1]
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value, given[_VALUE]
