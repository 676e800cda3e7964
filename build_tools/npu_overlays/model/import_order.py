"""Import order: module → the code that may run before a given statement of it has run."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from math import inf
from typing import cast

from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding, Load, Scope


class ImportOrder:
    """The code of a module that may run during its import, and how early; in doubt, code counts as early.

    Args:
        module: the module.
        early: the functions in its classes that the class bodies may call.
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
        self._module = module
        self._called_before = cache(self._find_called_before)

    def runs_on_import(self, load: Load) -> bool:
        """Return whether a read runs on import: outside functions, or in a function that a class body may call."""
        return load.eager or id(load.at) in self._early

    def is_early(self, load: Load, binding: Binding, *, wary: bool) -> bool:
        """Return whether a read of a name may happen before a binding of it; if `wary`, also by a decorator's call."""
        reader, binder = self._number(load.at), self._number(binding.node)
        decorated = wary and reader in self._decorated
        runs = self.runs_on_import(load) or decorated
        return reader < binder and (runs or reader in self._called_before(binder))

    def is_called_early(self, scope: Scope, load: Load, binding: Binding) -> bool:
        """Return whether a function of the module that itself reads a name is called before a binding of it."""
        first_call = self._first_calls.get(self._number(load.at), inf)
        return first_call < self._number(binding.node) and self._is_functions_own(scope)

    def _is_functions_own(self, scope: Scope) -> bool:
        """Return whether a scope belongs to a function of the module, or to a comprehension in one."""
        while scope.transparent and scope.parent:
            scope = scope.parent
        return scope.parent is self._module.scopes.module

    @cached_property
    def _calls(self) -> list[tuple[set[str], set[str]]]:
        """By statement, the names that it calls during the import, and those that its function calls."""
        scopes = self._module.scopes
        found: list[tuple[set[str], set[str]]] = [(set(), set()) for _ in self._starts]
        for scope in scopes.all:
            own = self._is_functions_own(scope)
            for load in scope.loads:
                if load.at in scopes.callees and (load.eager or own) and scope.owner(load.name).parent is None:
                    found[self._number(load.at)][0 if load.eager else 1].add(load.name)
        return found

    @cached_property
    def _first_calls(self) -> dict[int, int]:
        """By function, the first statement that calls it, directly or through functions above."""
        by_functions: list[set[str]] = []
        for node, (_, names) in zip(self._module.tree.body, self._calls, strict=True):
            by_functions.append(names if isinstance(node, ast.FunctionDef) else set())
        found: dict[int, int] = {}
        for place, (names, _) in enumerate(self._calls):
            for number in self._reached(names, by_functions, above=place):
                found.setdefault(number, place)
        return found

    def _number(self, node: ast.AST) -> int:
        """Return the number of the module's statement that contains a node."""
        placed = cast("ast.expr", node)
        return max(bisect_right(self._starts, (placed.lineno, placed.col_offset)) - 1, 0)

    def _find_called_before(self, number: int) -> set[int]:
        """Return the definitions above a statement that may be called before it runs.

        These are the names in calls that run on import above it, and the names in those definitions.
        """
        return self._reached(set().union(*self._called[:number]), self._reads, above=number)

    def _reached(self, names: set[str], leading_on: Sequence[set[str]], *, above: int) -> set[int]:
        """Return the definitions above a statement that some names refer to, and the names that these lead on to."""
        found: set[int] = set()
        pending = [*names]
        while pending:
            for definition in self._binders.get(pending.pop(), set()) - found:
                if definition < above:
                    found.add(definition)
                    pending += leading_on[definition]
        return found


def _is_decorated(node: ast.stmt) -> bool:
    return bool(getattr(node, "decorator_list", []))
