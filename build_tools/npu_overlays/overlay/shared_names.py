"""Shared names: what shared definitions call each other, and themselves, follows the names they get in each target."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from npu_overlays.errors import Problem
from npu_overlays.overlay.marks import Reader
from npu_overlays.overlay.operations import Operation
from npu_overlays.syntax.scopes import is_private
from npu_overlays.syntax.splices import Splice, splice
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import names_in


def followed(reader: Reader) -> Iterator[Operation]:
    """Yield the operations of a shared file with their references renamed; notes those that cannot follow."""
    named = {reader.where(node): name for node in reader.module.tree.body if (name := _name(node))}
    places: dict[tuple[str, str], list[str]] = {}
    for operation in reader.operations:
        if operation.where in named:
            places.setdefault((operation.path, named[operation.where]), []).append(operation.symbol)
    for operation in reader.operations:
        meant = {name: _meant(places.get((operation.path, name), []), operation) for name in named.values()}
        yield _renamed(reader, operation, {name: other for name, other in meant.items() if name != other})


def _name(node: ast.stmt) -> str:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return next((target.id for target in targets if isinstance(target, ast.Name)), "")


def _meant(symbols: list[str], operation: Operation) -> str:
    """Return what a shared definition is called by its own module, where it is there under one name; or nothing."""
    reachable = [symbol for symbol in symbols if "." not in symbol]
    if operation.symbol in reachable:
        return operation.symbol
    return reachable[0] if len(reachable) == 1 else ""


def _renamed(reader: Reader, operation: Operation, names: dict[str, str]) -> Operation:
    """Return an operation that refers to other shared definitions by the given names, an empty one being none."""
    module = Module(operation.where, operation.text.encode())
    splices = []
    if "." in operation.symbol:
        for name in filter(is_private, module.scopes.global_loads):
            what = f"refers to `{name}`, which Python calls otherwise inside a class, as in {operation.symbol}"
            fix = "give it one leading underscore"
            reader.problems.append(Problem(where=operation.where, what=what, fix=fix))
    for name, other in names.items():
        loads = module.scopes.global_loads.get(name, [])
        rebound = any(binding.how == "global" for binding in module.scopes.bound(name))
        edited = any(name in names_in(edit.replace) for edit in operation.edits)
        if other and not rebound and not edited and all(isinstance(load.at, ast.Name) for load in loads):
            places = (module.span(load.at) for load in loads)
            splices += [Splice(start=start, end=end, text=other, where=operation.where) for start, end in places]
        elif loads or rebound or edited:
            called = f"called `{other}`" if other else "no name of the module"
            what = f"refers to `{name}` of this file, which in {operation.path} is {called}"
            fix = "give it that name here" if other else "hand it over, or import what is meant under another name"
            reader.problems.append(Problem(where=operation.where, what=what, fix=fix))
    return dataclasses.replace(operation, text=splice(module.content, splices, newline="\n").decode())
