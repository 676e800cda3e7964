"""Scopes: the bindings and reads of every name in a module, and the binding that each read gets.

It follows the compiler's rules, for every place in the text, and gives the same answers on every Python. Names bound by
``exec``, ``globals()`` or ``setattr`` are not seen.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

How: TypeAlias = Literal["definition", "for", "with", ":=", "case", "except", "del", "global", "parameter"]


class Binding(NamedTuple):
    """One place that binds a name."""

    node: ast.AST  # the statement of an import or a definition, otherwise what names the name
    how: How
    direct: bool = False  # it stands in the module's own list of statements
    typing_only: bool = False  # it stands under ``if TYPE_CHECKING:``

    @property
    def line(self) -> int:
        """The 1-based line."""
        return getattr(self.node, "lineno", 1)


class Load(NamedTuple):
    """One place that reads a name."""

    name: str
    at: ast.expr  # the node whose position holds on every Python: of an f-string, all of it
    eager: bool  # it is read when the module is imported
    called: bool = False  # what it gives may be called there and then
    annotation: bool = False  # it stands in one


@dataclass(eq=False, kw_only=True)
class Scope:
    """A module, class or function body, or a comprehension."""

    kind: Literal["module", "class", "function"]  # a comprehension is a function too
    parent: Scope | None = None
    name: str = ""  # qualified, of a class that can be reached from the module; otherwise empty
    deferred: bool = False  # its code runs later than the module is imported
    transparent: bool = False  # ``:=`` in it binds outside, as in a comprehension
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    loads: list[Load] = field(default_factory=list)
    outer: dict[str, Literal["global", "nonlocal"]] = field(default_factory=dict)

    def bind(self, name: str, binding: Binding) -> None:
        """Note a binding."""
        self.bindings.setdefault(name, []).append(binding)

    def owner(self, name: str) -> Scope:
        """Return the scope whose binding a read here gets; the module for globals, builtins and undefined names."""
        scope = self
        while scope.parent is not None:
            declared = scope.outer.get(name)
            if declared == "global":
                return scope.module
            if not declared and name in scope.bindings and (scope is self or scope.kind == "function"):
                return scope
            scope = scope.parent
        return scope

    @property
    def is_in_class(self) -> bool:
        """Whether it is a class, or in one."""
        return self.kind == "class" or (self.parent is not None and self.parent.is_in_class)

    @property
    def module(self) -> Scope:
        """The outermost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Scopes:
    """The scopes of a module, or of a piece of one: the module's own, all of them, and the star imports."""

    def __init__(self) -> None:
        self.module = Scope(kind="module")
        self.all = [self.module]
        self.stars: list[Binding] = []
        self.callees: set[ast.AST] = set()  # what is called, by ``f(…)`` or as a decorator

    @cached_property
    def classes(self) -> dict[str, list[Scope]]:
        """The class scopes by qualified name, several if a class is defined several times."""
        found: dict[str, list[Scope]] = {}
        for scope in self.all:
            if scope.kind == "class" and scope.name:
                found.setdefault(scope.name, []).append(scope)
        return found

    @cached_property
    def global_loads(self) -> dict[str, list[Load]]:
        """Every read of a name that is, or may be, a global or a builtin."""
        found: dict[str, list[Load]] = {}
        for scope in self.all:
            # In a class body a name is the module's until the class binds it.
            beyond = scope.parent if scope.kind == "class" and scope.parent else scope
            for load in scope.loads:
                owner = scope.owner(load.name)
                if self.module in (owner, owner if beyond is scope else beyond.owner(load.name)):
                    found.setdefault(load.name, []).append(load)
        return found

    def star_sources(self, *, typing_only: bool) -> tuple[tuple[int, str], ...]:
        """Return the star imports at run time, or those for type checkers only, as (level, module)."""
        found: list[tuple[int, str]] = []
        for star in self.stars:
            if isinstance(star.node, ast.ImportFrom) and star.typing_only is typing_only:
                found.append((star.node.level, star.node.module or ""))
        return tuple(found)

    @cached_property
    def bound_otherwise(self) -> frozenset[str]:
        """The names that something other than an import binds, in any scope."""
        found: set[str] = set()
        for scope in self.all:
            for name, bindings in scope.bindings.items():
                if not all(isinstance(one.node, (ast.Import, ast.ImportFrom)) for one in bindings):
                    found.add(name)
        return frozenset(found)

    def bound(self, symbol: str) -> list[Binding]:
        """Return every binding of a name of the module, or of ``Class.name``, in order."""
        parent, _, leaf = symbol.rpartition(".")
        bindings: list[Binding] = []
        for scope in self.classes.get(parent, []):
            bindings += scope.bindings.get(leaf, [])
        bindings += self.module.bindings.get(symbol, [])
        return sorted(bindings, key=lambda binding: binding.line)


def is_private(name: str) -> bool:
    """Return whether Python mangles a name inside a class."""
    return name.startswith("__") and not name.endswith("__")
