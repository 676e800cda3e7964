"""Free names: piece of syntax → the names that refer to something outside it, and those that its own imports bind."""

from __future__ import annotations

import ast

from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Scope
from npu_overlays.model.syntax import all_of, nodes_of


class FreeNames:
    """The names of a piece of syntax, each resolved by its scope."""

    def __init__(self, tree: ast.Module) -> None:
        scopes = read_scopes(tree)
        self._outside = scopes.module
        self._scopes: dict[tuple[str, ast.AST], Scope] = {}
        for scope in scopes.all:
            for load in scope.loads:
                self._scopes[load.name, load.at] = scope
        # Where a name stands in an f-string, only some versions of Python tell.
        self._texts: dict[ast.AST, ast.JoinedStr] = {}
        for text in reversed(all_of(tree, ast.JoinedStr)):
            self._texts.update(dict.fromkeys(nodes_of(text), text))

    def is_outer(self, node: ast.Name) -> bool:
        """Return whether a name refers to something outside the piece, or to a top-level binding of it."""
        return self._owner(node) is self._outside

    def is_imported(self, node: ast.Name) -> bool:
        """Return whether a name is local to a function and bound by an import there."""
        bindings = self._owner(node).bindings.get(node.id, [])
        return any(isinstance(one.node, (ast.Import, ast.ImportFrom)) for one in bindings)

    def _owner(self, node: ast.Name) -> Scope:
        scope = self._scopes.get((node.id, self._texts.get(node, node)))
        return scope.owner(node.id) if scope else self._outside
