"""Free names: piece of syntax → the names that refer to something outside it, and those that its own imports bind."""

from __future__ import annotations

import ast
from functools import cached_property

from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Scope, Scopes
from npu_overlays.model.syntax import all_of, nodes_of


class FreeNames:
    """The names of a piece of syntax, each resolved by its scope; it is read when a name is asked for."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree

    def is_outer(self, node: ast.Name) -> bool:
        """Return whether a name refers to something outside the piece, or to a top-level binding of it."""
        return self._owner(node) is self._all.module

    def is_imported(self, node: ast.Name) -> bool:
        """Return whether a name is local to a function and bound by an import there."""
        bindings = self._owner(node).bindings.get(node.id, [])
        return any(isinstance(one.node, (ast.Import, ast.ImportFrom)) for one in bindings)

    def _owner(self, node: ast.Name) -> Scope:
        scope = self._scopes.get((node.id, self._texts.get(node, node)))
        return scope.owner(node.id) if scope else self._all.module

    @cached_property
    def _all(self) -> Scopes:
        return read_scopes(self._tree)

    @cached_property
    def _scopes(self) -> dict[tuple[str, ast.AST], Scope]:
        """The scope of each read of a name."""
        found: dict[tuple[str, ast.AST], Scope] = {}
        for scope in self._all.all:
            for load in scope.loads:
                found[load.name, load.at] = scope
        return found

    @cached_property
    def _texts(self) -> dict[ast.AST, ast.JoinedStr]:
        """The f-string around each of its nodes: only some versions of Python tell where a name stands in it."""
        found: dict[ast.AST, ast.JoinedStr] = {}
        for text in reversed(all_of(self._tree, ast.JoinedStr)):
            found.update(dict.fromkeys(nodes_of(text), text))
        return found
