"""Rebound imports: imports that the wanted module exchanges, and operations with them exchanged."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from npu_overlays.authoring.refresh.equivalence import plain_imports
from npu_overlays.overlay.operations import ImportedName, Operation


def exchanged_imports(now: ast.Module, wanted: ast.Module) -> Mapping[ImportedName, ImportedName]:
    """Return the imports in whose place another one binds the name in the wanted module, and that other one."""
    before, after = _imports(now), _imports(wanted)
    found: dict[ImportedName, ImportedName] = {}
    for name in {one.name for one in before - after}:
        gone, new = ([one for one in each if one.name == name] for each in (before - after, after - before))
        if len(gone) == len(new) == 1:
            found[gone[0]] = new[0]
    return found


def rebound(operation: Operation, exchanged: Mapping[ImportedName, ImportedName]) -> Operation:
    """Return an operation with imports exchanged; itself where it has none of them."""
    imports = tuple(exchanged.get(one, one) for one in operation.imports)
    return operation if imports == operation.imports else replace(operation, imports=imports)


def _imports(tree: ast.Module) -> frozenset[ImportedName]:
    return frozenset(ImportedName(name=name, statement=statement) for name, statement in plain_imports(tree))
