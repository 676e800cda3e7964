"""Touched names: statement → what it sets, computes or calls that fails nowhere when it is wrong.

Names decide: a name that is given a value, deleted, changed in place or computed with, a key or a keyword that is
given one, and a function that is called. What is only read, passed on under its own name or compared, is not touched.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from npu_overlays.checks.risk_lint.risk_words import kinds
from npu_overlays.checks.risk_lint.statement_diff import CodeStatement, as_text
from npu_overlays.model.definitions import FUNCTIONS

Imports: TypeAlias = Mapping[str, str]
# A name, and what it stands in.
_Named: TypeAlias = tuple[str, ast.AST]
# They leave their result in what they are given.
_IN_PLACE = frozenset({"all_reduce", "reduce", "broadcast", "all_gather_into_tensor"})
_BY_NAME = frozenset({"setattr", "delattr", "update"})


def touched(statement: CodeStatement, imports: Imports) -> Iterator[tuple[str, str]]:
    """Yield the kinds of what a statement touches, of those that names speak of, each with what shows that.

    Args:
        statement: it.
        imports: of its module.
    """
    node = statement.node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        yield from ((kind, statement.text) for kind in kinds(node.name))
    for part in statement.parts:
        for one in ast.walk(part):
            for name, shown in (*_set(one, part), *_called(one, imports), *_computed(one)):
                yield from ((kind, as_text(shown)) for kind in kinds(name))


def chain(node: ast.AST | None) -> tuple[str, ...]:
    """Return the names of ``a.b.c``; of ``f().c`` only the last ones."""
    if isinstance(node, ast.Attribute):
        return (*chain(node.value), node.attr)
    return (node.id,) if isinstance(node, ast.Name) else ()


def full_chain(node: ast.AST | None, imports: Imports) -> tuple[str, ...]:
    """Return the names of ``a.b.c`` with what its first one was imported as."""
    names = chain(node)
    return (*imports.get(names[0], names[0]).split("."), *names[1:]) if names else ()


def _set(node: ast.AST, whole: ast.AST) -> Iterator[_Named]:
    """Yield the names and keys that something gives a value to, or deletes."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
        yield from ((name, whole) for name in _subject(node))
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, ast.Dict(keys=[key], values=[value])


def _subject(node: ast.expr) -> Iterator[str]:
    """Yield what an expression is called: of ``a.b`` b, of ``batch["key"]`` the key, and of ``loss[mask]`` loss."""
    if isinstance(node, ast.Subscript):
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            yield node.slice.value
        yield from _subject(node.value)
    else:
        yield from chain(node)[-1:]


def _called(node: ast.AST, imports: Imports) -> Iterator[_Named]:
    if not isinstance(node, ast.Call):
        return
    names = full_chain(node.func, imports)
    # torch.utils.checkpoint computes activations again, and keeps nothing.
    yield from ((name, node) for name in names[-1:] if names[:-2] != ("torch", "utils"))
    yield from ((one.arg, one) for one in node.keywords if one.arg and not _is_passed_on(one))
    if names[-1:] and names[-1] in _BY_NAME:
        texts = (one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str))
        yield from ((text, node) for text in texts)
    if names[-1:] and names[-1] in _IN_PLACE:
        yield from ((name, node) for one in node.args[:1] for name in _subject(one))
    if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_") and not node.func.attr.endswith("__"):
        yield from ((name, node) for name in _subject(node.func.value))


def _is_passed_on(keyword: ast.keyword) -> bool:
    return keyword.arg in chain(keyword.value)[-1:]


def _computed(node: ast.AST) -> Iterator[_Named]:
    """Yield the names that are computed with."""
    if isinstance(node, ast.BinOp):
        yield from ((name, node) for one in (node.left, node.right) for name in _subject(one))
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        yield from ((name, node) for name in _subject(node.operand))
