"""Shared names: operations of a shared file → their references to each other, renamed for each target."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from npu_overlays.errors import Problem
from npu_overlays.model.code_blocks import names_in
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Load, is_private
from npu_overlays.model.selectors import owner_of, plain
from npu_overlays.model.splices import Splice, splice
from npu_overlays.overlay.operations import Operation
from npu_overlays.overlay.parser.parsed_file import ParsedFile


def rename_references(parsed: ParsedFile, operations: Sequence[Operation]) -> tuple[list[Operation], list[Problem]]:
    """Return the operations of a shared file with renamed references, and problems for those that cannot be renamed."""
    named: dict[str, str] = {}
    for node in parsed.module.tree.body:
        if name := _name(node):
            named[parsed.where(node)] = name
    places: dict[tuple[str, str], list[str]] = {}
    for operation in operations:
        if operation.where in named:
            places.setdefault((operation.path, named[operation.where]), []).append(operation.symbol)
    found: list[Operation] = []
    problems: list[Problem] = []
    for operation in operations:
        others: dict[str, str] = {}
        for name in named.values():
            other = _name_in_target(places.get((operation.path, name), []), operation)
            if other != name:
                others[name] = other
        references = _References(operation, others)
        problems += references.problems()
        found.append(references.renamed())
    return found, problems


def _name_in_target(symbols: list[str], operation: Operation) -> str:
    """Return the name of a shared definition in the target's module; empty unless it has exactly one."""
    reachable = [plain(symbol) for symbol in symbols if not owner_of(symbol)]
    if operation.name in reachable:
        return operation.name
    return reachable[0] if len(reachable) == 1 else ""


def _name(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return next((target.id for target in targets if isinstance(target, ast.Name)), "")


class _References:
    """The references of an operation whose names differ in its target.

    Args:
        operation: a shared one.
        names: of definitions of its file, each with its name in the target's module, or an empty text.
    """

    def __init__(self, operation: Operation, names: Mapping[str, str]) -> None:
        self._operation, self._names = operation, names
        self._module = Module(operation.where, operation.text.encode())

    def problems(self) -> Iterator[Problem]:
        """Yield the references that cannot be renamed."""
        where, path = self._operation.where, self._operation.path
        if self._operation.owner:
            for name in filter(is_private, self._module.scopes.global_loads):
                what = f"refers to `{name}`, which Python renames inside a class, as in {self._operation.symbol}"
                yield Problem(where=where, what=what, fix="rename it, with one leading underscore")
        for name, other in self._names.items():
            if self._is_read(name) and not self._can_follow(name):
                called = f"called `{other}`" if other else "no name of the module"
                what = f"refers to `{name}` of this file, which in {path} is {called}"
                fix = f"call it `{other}` here" if other else "pass it as an argument, or import it under another name"
                yield Problem(where=where, what=what, fix=fix)
            elif self._is_captured(name):
                what = (
                    f"refers to `{name}` of this file, which in {path} is called `{other}`, and binds `{other}` itself"
                )
                yield Problem(where=where, what=what, fix=f"rename its own `{other}`")
            for written in self._mangled(name):
                what = f"names `{written}`, of a class that in {path} is not called `{name}`"
                yield Problem(where=where, what=what, fix="rename it, with one leading underscore")

    def renamed(self) -> Operation:
        """Return the operation with every possible reference renamed."""
        splices: list[Splice] = []
        for name, other in self._names.items():
            if self._can_follow(name):
                for load in self._loads(name):
                    start, end = self._module.span(load.at)
                    splices.append(Splice(start=start, end=end, text=other, where=self._operation.where))
        return dataclasses.replace(self._operation, text=splice(self._module.content, splices, newline="\n").decode())

    def _loads(self, name: str) -> list[Load]:
        return self._module.scopes.global_loads.get(name, [])

    def _is_read(self, name: str) -> bool:
        return bool(self._loads(name)) or self._is_written_otherwise(name)

    def _is_written_otherwise(self, name: str) -> bool:
        """Return whether a name is bound by ``global``, or part of a substitution."""
        for binding in self._module.scopes.bound(name):
            if binding.how == "global":
                return True
        return any(name in names_in(edit.replace) for edit in self._operation.edits)

    def _is_captured(self, name: str) -> bool:
        """Return whether a scope between a reference and the module binds the reference's new name."""
        scopes, loads = self._module.scopes, {id(load.at) for load in self._loads(name)}
        for scope in scopes.all:
            reads = any(id(load.at) in loads for load in scope.loads if load.name == name)
            if reads and scope.owner(self._names[name]) is not scopes.module:
                return True
        return False

    def _mangled(self, name: str) -> Iterator[str]:
        """Yield the mangled forms of a class's private names that are written out."""
        prefix = f"_{name.lstrip('_')}__"
        for node in ast.walk(self._module.tree):
            written = getattr(node, "attr", getattr(node, "value", ""))
            if isinstance(written, str) and written.startswith(prefix) and written.isidentifier():
                yield written

    def _can_follow(self, name: str) -> bool:
        plain = all(isinstance(load.at, ast.Name) for load in self._loads(name))
        return bool(self._names[name]) and plain and not self._is_written_otherwise(name)
