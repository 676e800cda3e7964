"""Replacements: a definition that is gone, or takes other parameters → the new ones that may have its place.

Their code may be all new, so they are no new targets. But a replacement makes the same objects, inherits from the same
base, or takes the same parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.authoring.matcher import COMMON
from npu_overlays.authoring.port.changed_definitions import ChangedDefinitions
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.model import Model, Symbol
from npu_overlays.model.definitions import FUNCTIONS
from npu_overlays.model.selectors import leaf_of, owner_of
from npu_overlays.model.signatures import parameters
from npu_overlays.model.syntax import all_of, nodes_of


class Replacements:
    """Finds new definitions by their objects, bases and parameters.

    Args:
        base: upstream where the overlay was locked.
        model: of it.
        changed: says what is new.
    """

    def __init__(self, base: Snapshot, model: Model, changed: ChangedDefinitions) -> None:
        self._base = base
        self._model = model
        self._changed = changed
        self._heirs: dict[Symbol, list[Symbol]] = {}

    def of_missing(self, gone: Symbol, now: Snapshot) -> Iterator[Symbol]:
        """Yield what may have the place of a missing function or class."""
        yield from self._new_heirs(gone, now)
        for made in self._made_by(gone):
            if now.has_class(made.path, made.name):
                yield from self._makers(made, owner_of(gone.name), now)
            elif not gone.name.startswith(f"{made.name}."):
                yield from self._new_heirs(made, now)

    def of_changed(self, known: Symbol, now: Snapshot) -> Iterator[Symbol]:
        """Yield the new functions that take what one took which is there, and takes other parameters now."""
        before = _names_taken(self._base, known)
        if before is None or not set(before) - set(_names_taken(now, known) or ()):
            return
        leaf = leaf_of(known.name)
        outer = owner_of(known.name) or leaf
        places, alike = self._changed.places(outer, now), self._changed.alike(outer, now)
        if len(places) <= COMMON:
            alike += [(path, outer) for path in places]
        for path, name in dict.fromkeys(alike):
            one = Symbol(path, f"{name}.{leaf}" if outer != leaf else name)
            if not self._base.definition(*one) and _names_taken(now, one) == before:
                yield one

    def _new_heirs(self, gone: Symbol, now: Snapshot) -> Iterator[Symbol]:
        """Yield the classes of new names that name a base of a missing class, or an heir of it, as their own base.

        A base with many heirs shows nothing: most new classes inherit from it.
        """
        if not self._base.has_class(*gone) or now.has_class(*gone):
            return
        for base in self._model.classes.bases(gone).stated:
            if not isinstance(base, Symbol) or not now.has_class(*base):
                continue
            if base not in self._heirs:
                self._heirs[base] = list(self._model.classes.heirs(base))
            if len(self._heirs[base]) <= COMMON:
                family = {leaf_of(one.name) for one in (base, *self._heirs[base])}
                for path, name in self._changed.heirs(family, now):
                    # A recipe's class does not replace a library's.
                    is_near = path.partition("/")[0] == gone.path.partition("/")[0]
                    if is_near and leaf_of(name) not in family:
                        yield Symbol(path, name)

    def _made_by(self, gone: Symbol) -> list[Symbol]:
        """Return the classes of its module that a missing function makes objects of; what it raises does not count."""
        one = self._base.definition(*gone)
        return _made(one.node, gone.path, self._base) if one and isinstance(one.node, FUNCTIONS) else []

    def _makers(self, made: Symbol, owner: str, now: Snapshot) -> Iterator[Symbol]:
        """Yield the new functions of a class's module, or of a class in it, that make objects of the first."""
        before, after = self._base.module(made.path), now.module(made.path)
        if before is None or after is None:
            return
        for name, (one, *_) in after.definitions.items():
            is_new = name not in before.definitions and owner_of(name) in ("", owner)
            if is_new and isinstance(one.node, FUNCTIONS) and made in _made(one.node, made.path, now):
                yield Symbol(made.path, name)


def _made(node: ast.stmt, path: str, snapshot: Snapshot) -> list[Symbol]:
    """Return the classes of a module that a function in it calls, or a method of them, and does not raise."""
    raised = {one for statement in all_of(node, ast.Raise) for one in nodes_of(statement)}
    found: dict[Symbol, None] = {}
    for call in all_of(node, ast.Call):
        called = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if call not in raised and isinstance(called, ast.Name) and snapshot.has_class(path, called.id):
            found[Symbol(path, called.id)] = None
    return list(found)


def _names_taken(snapshot: Snapshot, symbol: Symbol) -> list[str] | None:
    """Return the names of a function's parameters; None if there is no such function."""
    one = snapshot.definition(*symbol)
    if one is None or not isinstance(one.node, FUNCTIONS):
        return None
    return [parameter.name for parameter in parameters(one.node.args)]
