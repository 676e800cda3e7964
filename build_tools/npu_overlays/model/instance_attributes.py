"""Instances: what the objects of a class have of their own, so that they never reach into the class for it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.symbols import Symbol

# They run for every instance.
_MAKING = ("__init__", "__post_init__", "__setstate__")
# Decorators that leave a function one that an object's own attribute hides; a property takes what is set.
_HIDDEN_UNDER = frozenset({"staticmethod", "classmethod", "abstractmethod", "cached_property", "override", "no_grad"})


@dataclass(frozen=True, kw_only=True)
class AttributeOverride:
    """One method that gives objects an attribute of their own, without looking at the one they had.

    Args:
        method: its qualified name, and the path of its module where that is another one.
        line: where.
        always: whether every object of the class gets it.
    """

    method: str
    line: int
    always: bool


def hiding_assignments(
    classes: ClassGraph, owner: Symbol, name: str, *, always: bool
) -> Iterator[tuple[str, ast.expr | ast.stmt]]:
    """Yield what gives the objects of a class an attribute of their own, each with the path of its module.

    Args:
        classes: those of the tree.
        owner: the class; its bases are looked at too.
        name: the attribute.
        always: whether an assignment in any method counts; otherwise only what runs for every object: a value of the
            class may well serve until a method sets another.
    """
    for one, node in family(classes, owner):
        for statement in node.body:
            if isinstance(statement, FUNCTIONS):
                # The original of a wrapped method runs as that does, and ends like it.
                if always or statement.name.endswith(_MAKING):
                    yield from ((one.path, each) for each in _set(statement, name))
            elif name in _slots(statement):
                yield one.path, statement


def family(classes: ClassGraph, owner: Symbol) -> Iterator[tuple[Symbol, ast.ClassDef]]:
    """Yield a class and its bases of the tree, in the order in which Python asks them, each with its definitions."""
    for one in classes.line(owner):
        nodes = (each.node for each in classes.definitions(one))
        yield from ((one, node) for node in nodes if isinstance(node, ast.ClassDef))


def _set(method: FunctionNode, name: str, body: Iterable[ast.stmt] | None = None) -> Iterator[ast.expr]:
    """Yield what in a method, or only in `body` of it, sets an attribute of its first parameter."""
    first = [*method.args.posonlyargs, *method.args.args][:1]
    statements = method.body if body is None else body
    for node in (inner for one in statements for inner in ast.walk(one)) if first else ():
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
            target: ast.expr = node.value
        elif isinstance(node, ast.Call) and _is_setattr(node, name):
            target = node.args[0]
        else:
            continue
        if isinstance(target, ast.Name) and target.id == first[0].arg:
            yield node


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


def overriding_methods(classes: ClassGraph, path: str, definition: Definition) -> Iterator[AttributeOverride]:
    """Yield the methods that put something else in the place of a member of their class, on the objects.

    Who reads the member by its name on the way, as ``self.f = cached(self.f)`` does, keeps it in use. Python itself
    looks for ``__call__`` and the like in the class alone.

    Args:
        classes: those of the tree.
        path: of the module that defines the member.
        definition: the member.
    """
    leaf = definition.name.rpartition(".")[2]
    if not definition.parent or (leaf.startswith("__") and leaf.endswith("__")) or _takes_settings(definition.node):
        return
    plain, owner = _is_plain(definition.node), Symbol(path, definition.parent)
    for one, node in family(classes, owner):
        for method in (
            each for each in node.body if isinstance(each, FUNCTIONS) and _may_name(classes, one, each, leaf)
        ):
            if method is definition.node:
                continue
            if lines := [] if _reads(method, leaf) else [each.lineno for each in _set(method, leaf)]:
                always = one == owner and plain and method.name in _MAKING and _sets_always(method, leaf)
                if always or isinstance(definition.node, FUNCTIONS) or method.name in _MAKING:
                    home = "" if one.path == path else f" of {one.path}"
                    yield AttributeOverride(method=f"{node.name}.{method.name}{home}", line=lines[0], always=always)


def _may_name(classes: ClassGraph, owner: Symbol, method: FunctionNode, name: str) -> bool:
    """Return whether a name stands anywhere in a method's text; Python may read letters beyond ASCII as others."""
    module = classes.module(owner.path)
    start, end = module.span(method) if module else (0, 0)
    text = module.content[start:end] if module else b""
    return name.encode() in text or not text.isascii()


def _takes_settings(node: ast.stmt) -> bool:
    leaves = _decorator_leaves(node)
    return any(leaf.endswith(("property", "setter")) and leaf != "cached_property" for leaf in leaves)


def _is_plain(node: ast.stmt) -> bool:
    return isinstance(node, FUNCTIONS) and _decorator_leaves(node) <= _HIDDEN_UNDER


def _decorator_leaves(node: ast.stmt) -> set[str]:
    called = (one.func if isinstance(one, ast.Call) else one for one in getattr(node, "decorator_list", []))
    return {ast.unparse(one).rpartition(".")[2] for one in called}


def _reads(method: FunctionNode, name: str) -> bool:
    """Return whether a method asks for an attribute, by name or by ``getattr``."""
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
            return True
        asking = isinstance(node, ast.Call) and not _is_setattr(node, name)
        if asking and any(isinstance(one, ast.Constant) and one.value == name for one in node.args):  # type: ignore[attr-defined]  # a Call
            return True
    return False


def _sets_always(method: FunctionNode, name: str) -> bool:
    """Return whether one of a method's own statements, none of its branches, sets an attribute."""
    leaving = (
        number for number, one in enumerate(method.body) if any(isinstance(x, ast.Return) for x in ast.walk(one))
    )
    reached = method.body[: next(leaving, None)]
    plain = [one for one in reached if isinstance(one, (ast.Assign, ast.AnnAssign, ast.Expr))]
    return any(_set(method, name, plain))
