"""Chains: piece of syntax, or of text → the dotted names that it reads."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from npu_overlays.syntax.definitions import FUNCTIONS
from npu_overlays.syntax.tokens import significant

Chain: TypeAlias = tuple[str, ...]


def chains(*nodes: ast.AST) -> Iterator[tuple[Chain, ast.expr]]:
    """Yield every ``a.b.c`` that is read, as long as it is, and its node; of ``a().b`` only ``a``."""
    pending = list(reversed(nodes))
    while pending:
        node = pending.pop()
        names: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            names.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or not isinstance(node, ast.expr):
            pending += reversed([*ast.iter_child_nodes(inner)])
        elif isinstance(getattr(node, "ctx", None), ast.Load):
            yield (inner.id, *names), node
        elif names:  # what is set is an attribute of what is read
            yield (inner.id, *names[:-1]), node


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
    found = {one.attr for one in every if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)}
    return found | {"__call__" for one in every if isinstance(one, ast.Call)}
