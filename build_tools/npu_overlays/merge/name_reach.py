"""Name reach: module → where each read of a name gets it."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import NamedTuple

from npu_overlays.merge.import_merge import imported_names
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Load, Scope


class Reach(NamedTuple):
    """Where a read gets its name: how many scopes further out, whether something binds it there, and by which imports.

    Where anything but an import binds it, no import is named.
    """

    outer: int
    bound: bool
    imported: frozenset[str]

    def is_like(self, other: Reach) -> bool:
        """Return whether another read gets the same, or the very same import of elsewhere."""
        return self[:2] == other[:2] or (bool(self.imported) and self.imported == other.imported)


def reach(scope: Scope, load: Load) -> Reach:
    """Return where a read gets its name."""
    owner, outer = scope.owner(load.name), 0
    if scope is owner and scope.kind == "class" and scope.parent:
        # In a class body a name is the module's until the class has bound it.
        late = all(one.line >= load.at.lineno for one in scope.bindings.get(load.name, []))
        owner = scope.parent.owner(load.name) if late else owner
    while scope is not owner and scope.parent:
        scope, outer = scope.parent, outer + 1
    return Reach(outer, load.name in owner.bindings, _imports(owner, load.name))


def loads(module: Module, names: Container[str]) -> Iterator[tuple[Scope, Load]]:
    """Yield the reads of some names, each with the scope in which it stands."""
    return ((scope, load) for scope in module.scopes.all for load in scope.loads if load.name in names)


def _imports(scope: Scope, name: str) -> frozenset[str]:
    """Return the import statements that bind a name in a scope; none where something else binds it too."""
    nodes = [one.node for one in scope.bindings.get(name, [])]
    imports = [one for one in nodes if isinstance(one, (ast.Import, ast.ImportFrom))]
    statements = (one.statement for node in imports for one in imported_names(node) if one.name == name)
    return frozenset(statements) if len(imports) == len(nodes) else frozenset()
