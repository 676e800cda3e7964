"""Module deletion: content that empties a module → content that deletes each of its definitions."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from npu_overlays.errors import MergeError, Problem, collected
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import with_selector
from npu_overlays.overlay.content import Content
from npu_overlays.overlay.operations import EVERYTHING, Operation
from npu_overlays.sources.tree import SourceTree


def written_out(content: Content, tree: SourceTree) -> Content:
    """Return the content with ``deleted("*")`` expanded to one deletion for each name that the module binds.

    Raises:
        MergeError: such a module has code that deletions of names would leave.
    """
    operations: list[Operation] = []
    problems: list[Problem] = []
    for operation in content.operations:
        if operation.symbol != EVERYTHING or operation.path not in tree:
            operations.append(operation)
            continue
        with collected(problems, MergeError):
            operations += each_deletion(operation, Module(operation.path, tree.read(operation.path)))
    MergeError.raise_for(problems)
    return dataclasses.replace(content, operations=tuple(operations))


def each_deletion(operation: Operation, module: Module) -> Iterator[Operation]:
    """Yield one deletion for each name that a module binds; raises `MergeError` if that leaves code."""
    for number, statement in enumerate(module.tree.body):
        if does_nothing(statement, first=not number):
            continue
        names: list[str] = []
        for inner in _inner(statement):
            names += [_meaning(module, name, inner) for name in sorted(module.names(inner))]
            if not module.names(inner):
                what = f"line {inner.lineno} of {operation.path} does more than bind names when it runs"
                raise MergeError(Problem(where=operation.where, what=what, fix="use a patch"))
        yield from (dataclasses.replace(operation, symbol=name, emptying=tuple(names)) for name in names)


def _meaning(module: Module, name: str, node: ast.stmt) -> str:
    """Return the symbol of a statement's definition of a name, with its selectors."""
    known = module.definitions[name]
    number = next(number for number, one in enumerate(known) if one.node is node)
    alone = len(known) == 1 and known[number].is_certain
    return with_selector(name, [] if alone else [f"#{number + 1}"])


def _inner(statement: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement, or the statements in a conditional one."""
    if isinstance(statement, ast.If):
        for inner in (*statement.body, *statement.orelse):
            yield from _inner(inner)
    else:
        yield statement


def does_nothing(statement: ast.stmt, *, first: bool) -> bool:
    """Return whether a statement is the docstring, a ``pass``, or a ``__future__`` import."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass) or (constant and first)
