"""Instance attributes: class → the attributes in its objects' own dictionaries, which hide those of the class."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode, methods
from npu_overlays.model.symbols import Symbol
from npu_overlays.model.syntax import decorator_names, is_name, last_name, nodes_of, targets

# They run for every instance.
_MAKING = ("__init__", "__post_init__", "__setstate__")
# Decorators that leave a function one that an object's own attribute hides; a property takes what is set.
_HIDDEN_UNDER = frozenset({"staticmethod", "classmethod", "abstractmethod", "cached_property", "override", "no_grad"})


@dataclass(frozen=True, kw_only=True)
class AttributeOverride:
    """One method that sets an attribute on objects without reading the one it hides."""

    method: str  # qualified name, and the path of its module where that is another one
    line: int
    always: bool  # every object of the class gets it


def hiding_assignments(
    classes: ClassGraph, owner: Symbol, name: str, *, always: bool
) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Yield the statements that set an attribute on the objects of a class, each with its module's path.

    Args:
        classes: those of the tree.
        owner: the class; its bases count too.
        name: the attribute.
        always: whether an assignment in any method counts; if not, only those that run for every object do, since a
            class's value may serve until a method sets another.
    """
    for one, node in family(classes, owner):
        for statement in node.body:
            # The original of a wrapped method runs as that does, and ends like it.
            if isinstance(statement, FUNCTIONS) and (always or statement.name.endswith(_MAKING)):
                for assignment in _assignments(statement, name, statement.body):
                    yield one.path, assignment
            elif name in _slots(statement):
                yield one.path, statement


def family(classes: ClassGraph, owner: Symbol) -> Iterator[tuple[Symbol, ast.ClassDef]]:
    """Yield the classes in an MRO that are in the tree, each with its definitions."""
    for one in classes.line(owner):
        for definition in classes.definitions(one):
            if isinstance(definition.node, ast.ClassDef):
                yield one, definition.node


def overriding_methods(classes: ClassGraph, path: str, definition: Definition) -> Iterator[AttributeOverride]:
    """Yield the methods that overwrite a member of their class on the objects.

    A method that also reads the member, as ``self.f = cached(self.f)``, keeps it in use. ``__call__`` and the like are
    looked up in the class alone, so they cannot be overwritten.

    Args:
        classes: those of the tree.
        path: of the module that defines the member.
        definition: the member.
    """
    leaf, owner = definition.name.rpartition(".")[2], Symbol(path, definition.parent)
    if not definition.parent or (leaf.startswith("__") and leaf.endswith("__")) or _takes_settings(definition.node):
        return
    for one, node in family(classes, owner):
        for method in methods(node):
            if method is definition.node or not _may_name(classes, one, method, leaf) or _reads(method, leaf):
                continue
            assignment = next(_assignments(method, leaf, method.body), None)
            if assignment is None:
                continue
            is_plain = isinstance(definition.node, FUNCTIONS) and decorator_names(definition.node) <= _HIDDEN_UNDER
            always = one == owner and is_plain and method.name in _MAKING and _sets_always(method, leaf)
            if always or isinstance(definition.node, FUNCTIONS) or method.name in _MAKING:
                home = "" if one.path == path else f" of {one.path}"
                name = f"{node.name}.{method.name}{home}"
                yield AttributeOverride(method=name, line=assignment.lineno, always=always)


def _assignments(method: FunctionNode, name: str, body: Sequence[ast.stmt]) -> Iterator[ast.expr]:
    """Yield the statements of a method that set an attribute of its first parameter."""
    parameters = [*method.args.posonlyargs, *method.args.args]
    if not parameters:
        return
    for statement in body:
        for node in nodes_of(statement):
            target: ast.expr | None = None
            if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
                target = node.value
            elif isinstance(node, ast.Call) and _is_setattr(node, name):
                target = node.args[0]
            if isinstance(node, ast.expr) and is_name(target, parameters[0].arg):
                yield node


def _is_setattr(call: ast.Call, name: str) -> bool:
    named = getattr(call.args[1], "value", None) if call.args[1:] else None
    return last_name(call.func) in ("setattr", "__setattr__") and bool(call.args[1:]) and named == name


def _slots(statement: ast.stmt) -> set[object]:
    """Return the names in a class's ``__slots__``."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    if value is None or not any(is_name(target, "__slots__") for target in targets(statement)):
        return set()
    return {part.value for part in nodes_of(value) if isinstance(part, ast.Constant)}


def _may_name(classes: ClassGraph, owner: Symbol, method: FunctionNode, name: str) -> bool:
    module = classes.module(owner.path)
    return module is not None and module.may_name(name, method)


def _takes_settings(node: ast.stmt) -> bool:
    """Return whether a member is a property, which handles assignments to its name itself."""
    leaves = decorator_names(node) - {"cached_property"}
    return any(leaf.endswith(("property", "setter")) for leaf in leaves)


def _reads(method: FunctionNode, name: str) -> bool:
    """Return whether a method reads an attribute, by name or by ``getattr``."""
    for node in nodes_of(method):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
            return True
        arguments = node.args if isinstance(node, ast.Call) and not _is_setattr(node, name) else []
        if any(isinstance(one, ast.Constant) and one.value == name for one in arguments):
            return True
    return False


def _sets_always(method: FunctionNode, name: str) -> bool:
    """Return whether a method sets an attribute unconditionally."""
    plain: list[ast.stmt] = []
    for statement in method.body:
        if any(isinstance(node, ast.Return) for node in nodes_of(statement)):
            break
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
            plain.append(statement)
    return any(_assignments(method, name, plain))
