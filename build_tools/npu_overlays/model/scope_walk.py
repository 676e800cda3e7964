"""Scope walk: syntax tree → each of its nodes, with the scope it stands in and what is known of the code around."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from npu_overlays.model.scopes import Binding, How, Load, Scope, Scopes

# Fields that hold no node, or one without names: contexts and operators.
_NAMELESS = {"attr", "conversion", "ctx", "id", "kind", "level", "module", "op", "ops", "type_comment"}


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """The fields of each type of node in which there may be names."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        return self.setdefault(kind, tuple(name for name in kind._fields if name not in _NAMELESS))


_FIELDS = _Fields()


class WalkPosition(NamedTuple):
    """Where a walk is: the scope, and what is known of the code around."""

    scope: Scope
    how: How = "definition"
    direct: bool = False
    typing_only: bool = False
    annotation: bool = False
    called: bool = False
    at: ast.expr | None = None  # the f-string or string annotation around

    def bound(self, node: ast.AST, how: How | None = None) -> Binding:
        """Return a binding that a node makes here."""
        return Binding(node, how or self.how, self.direct, self.typing_only)

    def load(self, node: ast.Name) -> Load:
        """Return a read that a name makes here."""
        return Load(node.id, self.at or node, not self.scope.deferred, self.called, self.annotation)


class ScopeWalk:
    """Walks a tree once, without recursion: upstream's expressions may be nested deeper than Python's stack.

    A node is given to the method ``_visit_`` and its type's name, where there is one; otherwise what is inside it is
    visited.

    Args:
        scopes: take the scopes that are opened on the way.
    """

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._pending: list[tuple[ast.AST, WalkPosition]] = []

    def walk(self, statements: Iterable[ast.stmt], place: WalkPosition) -> None:
        """Visit statements that stand at `place`, and all inside them."""
        self._later(reversed(list(statements)), place)
        visits: dict[type[ast.AST], Callable[[Any, WalkPosition], None]] = {}
        while self._pending:
            node, place = self._pending.pop()
            kind = type(node)
            if kind not in visits:
                visits[kind] = getattr(self, f"_visit_{kind.__name__}", self._children)
            visits[kind](node, place)

    def _later(self, nodes: object, place: WalkPosition) -> None:
        listed = nodes if isinstance(nodes, Iterator) else iter([nodes])
        self._pending.extend((node, place) for node in listed if isinstance(node, ast.AST))

    def _children(self, node: ast.AST, place: WalkPosition, *, but: tuple[str, ...] = ()) -> None:
        """Visit what is inside a node; statements inside another statement are not the module's own."""
        inner, pending = place, self._pending
        if isinstance(node, ast.stmt) and (place.direct or place.how != "definition"):
            inner = place._replace(direct=False, how="definition")
        for name in _FIELDS[type(node)]:
            value = getattr(node, name, None) if name not in but else None
            if isinstance(value, ast.AST):
                pending.append((value, inner))
            elif isinstance(value, list):
                pending += [(one, inner) for one in reversed(value) if isinstance(one, ast.AST)]

    def _scope(
        self,
        place: WalkPosition,
        kind: Literal["class", "function"],
        *,
        name: str = "",
        deferred: bool = False,
        transparent: bool = False,
    ) -> WalkPosition:
        scope = Scope(
            kind=kind,
            parent=place.scope,
            name=name,
            deferred=place.scope.deferred or deferred,
            transparent=transparent,
        )
        self._scopes.all.append(scope)
        return WalkPosition(scope, typing_only=place.typing_only, called=place.called, at=place.at)
