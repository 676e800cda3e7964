"""Attribute chains: piece of syntax → the dotted names that it reads, or whose attributes it sets."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

Chain: TypeAlias = tuple[str, ...]

# What begins the chain of ``super().a``.
SUPER = "super()"
# What asks an object for an attribute by its name, gives it one or takes it away.
_BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})
_LOAD = ast.Load()


def chains(*nodes: ast.AST) -> Iterator[tuple[Chain, ast.expr]]:
    """Yield every attribute chain that is read, ``a.b.c`` in full, with its node; of ``a().b`` only ``a``.

    ``getattr(a, "b")`` and ``vars(a)["b"]`` read ``a.b``, and so does setting or deleting it, which has no effect once
    upstream renames the attribute. ``a.__class__.b`` is ``a.b``.
    """
    pending = list(reversed(nodes))
    augmented: set[ast.AST] = set()
    while pending:
        node = pending.pop()
        augmented |= {node.target} if isinstance(node, ast.AugAssign) else set()
        names: list[str] = []
        inner = node
        while step := _step(inner):
            name, inner, beside = step
            names[:0] = [name] if name != "__class__" else []
            pending += reversed(beside)
        root = _root(inner)
        if not root or not isinstance(node, ast.expr):
            pending += reversed([*ast.iter_child_nodes(inner)])
        elif names or node in augmented or isinstance(getattr(node, "ctx", _LOAD), ast.Load):
            yield (root, *names), node


def root_of(node: ast.AST) -> ast.AST:
    """Return the first node of an attribute chain."""
    while step := _step(node):
        node = step[1]
    return node


def _step(node: ast.AST) -> tuple[str, ast.AST, list[ast.expr]] | None:
    """Return the attribute that a node names, its object, and the other parts of the node; None for any other node."""
    match node:
        case ast.Attribute():
            return node.attr, node.value, []
        case ast.Call(func=ast.Name(id=asks), args=[of, ast.Constant(value=str(name)), *beside]) if asks in _BY_NAME:
            return name, of, beside
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="vars"), args=[of]) | ast.Attribute(value=of, attr="__dict__"),
            slice=ast.Constant(value=str(name)),
        ):
            return name, of, []
    return None


def _root(node: ast.AST) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Call(func=ast.Name(id="super")):
            return SUPER
    return ""


def attributes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the attribute names that each node reads from any object; for a call, ``__call__``."""
    for one in nodes:
        if step := _step(one):
            yield step[0]
        if isinstance(one, ast.Call):
            yield "__call__"
