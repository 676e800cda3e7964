"""FreeNames: piece of syntax → which of its names stand for something outside it, and which an import in it binds."""

from __future__ import annotations

import ast

from npu_overlays.model.scope_reader import read_scopes
from npu_overlays.model.scopes import Scope


class FreeNames:
    """The names of a piece of syntax, each by the scope in which it stands.

    Args:
        tree: the piece.
    """

    def __init__(self, tree: ast.Module) -> None:
        scopes = read_scopes(tree)
        self._outside = scopes.module
        self._scopes = {(load.name, load.at): scope for scope in scopes.all for load in scope.loads}
        # Where a name stands in an f-string, only some versions of Python tell.
        texts = (one for one in ast.walk(tree) if isinstance(one, ast.JoinedStr))
        self._texts = {inner: text for text in reversed([*texts]) for inner in ast.walk(text)}

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
