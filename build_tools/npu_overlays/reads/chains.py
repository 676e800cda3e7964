"""Chains: piece of syntax, or of text → the dotted names that it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from npu_overlays.syntax.definitions import FUNCTIONS
from npu_overlays.syntax.tokens import significant

Chain: TypeAlias = tuple[str, ...]

# What begins the chain of ``super().a``.
SUPER = "super()"
_LOAD = ast.Load()


def chains(*nodes: ast.AST) -> Iterator[tuple[Chain, ast.expr]]:
    """Yield every ``a.b.c`` that is read, as long as it is, and its node; of ``a().b`` only ``a``.

    ``getattr(a, "b")`` reads ``a.b``.
    """
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        names: list[str] = []
        inner = node
        while step := _step(inner):
            name, inner, beside = step
            names.insert(0, name)
            pending += reversed(beside)
        root = _root(inner)
        if not root or not isinstance(node, ast.expr):
            pending += reversed([*ast.iter_child_nodes(inner)])
        elif isinstance(getattr(node, "ctx", _LOAD), ast.Load):
            yield (root, *names), node
        elif names:  # what is set is an attribute of what is read
            yield (root, *names[:-1]), node


def _step(node: ast.AST) -> tuple[str, ast.AST, list[ast.expr]] | None:
    """Return the attribute that a node reads, of what, and what else stands in it; None where it reads none."""
    match node:
        case ast.Attribute():
            return node.attr, node.value, []
        case ast.Call(func=ast.Name(id="getattr"), args=[of, ast.Constant(value=str(name)), *beside]):
            return name, of, beside
    return None


def _root(node: ast.AST) -> str:
    match node:
        case ast.Name():
            return node.id
        case ast.Call(func=ast.Name(id="super")):
            return SUPER
    return ""


def chains_in_text(text: str) -> Iterator[Chain]:
    """Yield every ``a.b.c`` of a fragment of code, which need not be whole; names of keyword arguments are left out."""
    tokens = significant(text)
    number = 0
    while number < len(tokens):
        first, names = number, []
        while number < len(tokens) and tokens[number].kind == "name":
            names.append(tokens[number].text)
            number += 2 if tokens[number + 1 : number + 2] and tokens[number + 1].text == "." else 1
            if tokens[number - 1].text != ".":
                break
        behind = tokens[number].text if number < len(tokens) else ""
        before = tokens[first - 1].text if first else ""
        if names and before != "." and behind != "=":
            yield tuple(names)
        number = max(number, first + 1)


def local_names(node: ast.AST) -> frozenset[str]:
    """Return every name that a function, or one inside it, binds by itself."""
    found: set[str] = set()
    for one in ast.walk(node):
        if isinstance(one, ast.arg):
            found.add(one.arg)
        elif isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
    return frozenset(found)


def first_parameter(node: ast.AST) -> str:
    """Return the name of a method's first parameter, by which it gets at its object; empty where it has none."""
    if not isinstance(node, FUNCTIONS) or any(getattr(one, "id", "") == "staticmethod" for one in node.decorator_list):
        return ""
    return next((one.arg for one in (*node.args.posonlyargs, *node.args.args)), "")


def attributes(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names of the attributes that are read of anything; of what is called, ``__call__``."""
    every = [one for node in nodes for one in ast.walk(node)]
    read = (one for one in every if isinstance(getattr(one, "ctx", _LOAD), ast.Load))
    found = {step[0] for one in read if (step := _step(one))}
    return found | {"__call__" for one in every if isinstance(one, ast.Call)}
