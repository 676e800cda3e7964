"""Free names: piece of syntax → which of its names stand for something outside it, and which an import in it binds."""

from __future__ import annotations

import ast

from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Scope
from npu_overlays.model.syntax import all_of, nodes_of


class FreeNames:
    """The names of a piece of syntax, each by the scope in which it stands."""

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
        """Return whether a name means what it does outside, or what a statement at the top of the piece binds."""
        return self._owner(node) is self._outside

    def is_imported(self, node: ast.Name) -> bool:
        """Return whether it is a name of a function's that an import in that binds."""
        bindings = self._owner(node).bindings.get(node.id, [])
        return any(isinstance(one.node, (ast.Import, ast.ImportFrom)) for one in bindings)

    def _owner(self, node: ast.Name) -> Scope:
        scope = self._scopes.get((node.id, self._texts.get(node, node)))
        return scope.owner(node.id) if scope else self._outside
