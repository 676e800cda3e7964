"""Import order: module → the code that may run before a given statement of it has run."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from math import inf
from typing import cast

from npu_overlays.model.definitions import first_line
from npu_overlays.model.module import Module
from npu_overlays.model.scopes import Binding, Load, Scope, Scopes


class ImportOrder:
    """The code of a module that may run during its import, and how early; in doubt, code counts as early.

    Args:
        module: the module.
        early: returns the functions in its classes that the class bodies may call.
    """

    def __init__(self, module: Module, early: Callable[[Module], Iterable[ast.stmt]]) -> None:
        body = module.tree.body
        self._starts = [(first_line(node), 0 if _is_decorated(node) else node.col_offset) for node in body]
        self._decorated = {number for number, node in enumerate(body) if _is_decorated(node)}
        self._module = module
        self._running_early = early
        self._called_before = cache(self._find_called_before)

    @cached_property
    def _early(self) -> set[int]:
        """The nodes of the functions that class bodies may call."""
        found: set[int] = set()
        for function in self._running_early(self._module):
            found.update(map(id, ast.walk(function)))
        return found

    @cached_property
    def _reads(self) -> list[set[str]]:
        """By statement, the globals that it reads."""
        found: list[set[str]] = [set() for _ in self._starts]
        for name, loads in self._module.scopes.global_loads.items():
            for load in loads:
                found[self._number(load.at)].add(name)
        return found

    @cached_property
    def _called(self) -> list[set[str]]:
        """By statement, the globals that it calls during the import."""
        found: list[set[str]] = [set() for _ in self._starts]
        scopes = self._module.scopes if self._early else self._module.outer_scopes
        for name, loads in scopes.global_loads.items():
            for load in loads:
                if load.called if load.eager else self.runs_on_import(load):
                    found[self._number(load.at)].add(name)
        return found

    @cached_property
    def _binders(self) -> dict[str, set[int]]:
        """By name, the statements that bind it."""
        found: dict[str, set[int]] = {}
        for name, bindings in self._module.outer_scopes.module.bindings.items():
            binders = found.setdefault(name.partition(".")[0], set())
            # What a class body makes a global and calls says nothing of the other parts of the class.
            binders.update(self._number(binding.node) for binding in bindings if id(binding.node) not in self._early)
        return found

    def runs_on_import(self, load: Load) -> bool:
        """Return whether a read runs on import: outside functions, or in a function that a class body may call."""
        return load.eager or id(load.at) in self._early

    def is_early(self, load: Load, binding: Binding, *, wary: bool) -> bool:
        """Return whether a read of a name may happen before a binding of it; if `wary`, also by a decorator's call."""
        reader, binder = self._number(load.at), self._number(binding.node)
        if reader >= binder:  # true of nearly all; the rest is slow
            return False
        decorated = wary and reader in self._decorated
        return self.runs_on_import(load) or decorated or reader in self._called_before(binder)

    def is_called_early(self, scope: Scope, load: Load, binding: Binding) -> bool:
        """Return whether a function of the module that itself reads a name is called before a binding of it."""
        reader, binder = self._number(load.at), self._number(binding.node)
        # A call stands below what it calls.
        return reader < binder and self._first_calls.get(reader, inf) < binder and self._is_functions_own(scope)

    def _is_functions_own(self, scope: Scope) -> bool:
        """Return whether a scope belongs to a function of the module, or to a comprehension in one."""
        while scope.transparent and scope.parent:
            scope = scope.parent
        return scope.parent is not None and scope.parent.parent is None

    @cached_property
    def _first_calls(self) -> dict[int, int]:
        """By function, the first statement that calls it, directly or through functions above."""
        found: dict[int, int] = {}
        for place, names in enumerate(self._calls(self._module.outer_scopes, eager=True)):
            for number in self._reached(names, self._called_by, above=place):
                found.setdefault(number, place)
        return found

    def _calls(self, scopes: Scopes, *, eager: bool) -> list[set[str]]:
        """Return, by statement, the names that it calls during the import, or those that its function calls."""
        found: list[set[str]] = [set() for _ in self._starts]
        for scope in scopes.all:
            if eager or self._is_functions_own(scope):
                for load in scope.loads:
                    if load.eager is eager and load.at in scopes.callees and scope.owner(load.name).parent is None:
                        found[self._number(load.at)].add(load.name)
        return found

    @cached_property
    def _calls_of_functions(self) -> list[set[str]]:
        return self._calls(self._module.scopes, eager=False)

    def _called_by(self, number: int) -> set[str]:
        """Return the names that a statement calls when it is called; nothing unless it is a function."""
        is_function = isinstance(self._module.tree.body[number], ast.FunctionDef)
        return self._calls_of_functions[number] if is_function else set()

    def _globals_of(self, number: int) -> set[str]:
        """Return the globals that a statement reads."""
        is_import = isinstance(self._module.tree.body[number], (ast.Import, ast.ImportFrom))
        return set() if is_import else self._reads[number]

    def _number(self, node: ast.AST) -> int:
        """Return the number of the module's statement that contains a node."""
        placed = cast("ast.expr", node)
        return max(bisect_right(self._starts, (placed.lineno, placed.col_offset)) - 1, 0)

    def _find_called_before(self, number: int) -> set[int]:
        """Return the definitions above a statement that may be called before it runs.

        These are the names in calls that run on import above it, and the names in those definitions.
        """
        return self._reached(set().union(*self._called[:number]), self._globals_of, above=number)

    def _reached(self, names: set[str], leading_on: Callable[[int], set[str]], *, above: int) -> set[int]:
        """Return the definitions above a statement that some names refer to, and the names that these lead on to."""
        found: set[int] = set()
        pending = [*names]
        while pending:
            for definition in self._binders.get(pending.pop(), set()) - found:
                if definition < above:
                    found.add(definition)
                    pending += leading_on(definition)
        return found


def _is_decorated(node: ast.stmt) -> bool:
    return bool(getattr(node, "decorator_list", []))
