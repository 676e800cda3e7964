"""Import order: module → what of it may run before a certain one of its statements has."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import cast

from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding, Load


class ImportOrder:
    """What of a module may run while it is imported, and how early; rather too much than too little is said to.

    Args:
        module: the module.
        early: what in its classes the class bodies may call.
    """

    def __init__(self, module: Module, early: Iterable[ast.stmt]) -> None:
        body = module.tree.body
        self._early: set[int] = set()
        for function in early:
            self._early.update(map(id, ast.walk(function)))
        self._starts = [(first_line(node), 0 if _is_decorated(node) else node.col_offset) for node in body]
        self._decorated = {number for number, node in enumerate(body) if _is_decorated(node)}
        self._reads: list[set[str]] = [set() for _ in body]
        self._called: list[set[str]] = [set() for _ in body]
        self._binders: dict[str, set[int]] = {}
        for name, loads in module.scopes.global_loads.items():
            for load in loads:
                number = self._number(load.at)
                self._reads[number].add(name)
                if load.called if load.eager else self.runs_on_import(load):
                    self._called[number].add(name)
        for name, bindings in module.scopes.module.bindings.items():
            binders = self._binders.setdefault(name.partition(".")[0], set())
            # What a class body makes a global and calls says nothing of the other parts of the class.
            binders.update(self._number(binding.node) for binding in bindings if id(binding.node) not in self._early)
        self._called_before = cache(self._find_called_before)

    def runs_on_import(self, load: Load) -> bool:
        """Return whether a read stands in what runs on import: outside functions, or in what a class body may call."""
        return load.eager or id(load.at) in self._early

    def is_early(self, load: Load, binding: Binding, *, wary: bool) -> bool:
        """Return whether a read of a name may happen before that binding; if `wary`, also by a decorator's call."""
        reader, binder = self._number(load.at), self._number(binding.node)
        decorated = wary and reader in self._decorated
        runs = self.runs_on_import(load) or decorated
        return reader < binder and (runs or reader in self._called_before(binder))

    def _number(self, node: ast.AST) -> int:
        """Return which of the module's statements a node stands in."""
        placed = cast("ast.expr", node)
        return max(bisect_right(self._starts, (placed.lineno, placed.col_offset)) - 1, 0)

    def _find_called_before(self, number: int) -> set[int]:
        """Return the statements above the given one that define what may be called before it.

        That is what calls above it name in code that runs on import, and what such definitions name in turn.
        """
        found: set[int] = set()
        pending: set[str] = set().union(*self._called[:number])
        known: set[str] = set()
        while pending:
            name = pending.pop()
            known.add(name)
            for definition in self._binders.get(name, set()) - found:
                if definition < number:
                    found.add(definition)
                    pending |= self._reads[definition] - known
        return found


def _is_decorated(node: ast.stmt) -> bool:
    return bool(getattr(node, "decorator_list", []))
