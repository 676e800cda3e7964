"""Rebound imports: imports that the wanted module exchanges, and operations with them exchanged."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace

from npu_overlays.authoring.refresh.equivalence import plain_imports
from npu_overlays.overlay.operations import ImportedName, Operation


def exchanged_imports(now: ast.Module, wanted: ast.Module) -> Mapping[ImportedName, ImportedName]:
    """Return the imports whose name another import binds in the wanted module, and that other one."""
    before, after = frozenset(plain_imports(now)), frozenset(plain_imports(wanted))
    gone, new = before - after, after - before
    found: dict[ImportedName, ImportedName] = {}
    for one in gone:
        others = [other for other in new if other.name == one.name]
        twins = [other for other in gone if other.name == one.name]
        if len(twins) == len(others) == 1:
            found[one] = others[0]
    return found


def rebound(operation: Operation, exchanged: Mapping[ImportedName, ImportedName]) -> Operation:
    """Return an operation with imports exchanged; itself where it has none of them."""
    imports = tuple(exchanged.get(one, one) for one in operation.imports)
    return operation if imports == operation.imports else replace(operation, imports=imports)
