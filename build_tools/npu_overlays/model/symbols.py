"""Symbols: the things that a name in a tree's module can stand for."""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeAlias


class Symbol(NamedTuple):
    """A definition of the tree, by repository path and qualified name."""

    path: str
    name: str

    def member(self, name: str) -> Symbol:
        """Return the symbol of a member of this class's body."""
        return Symbol(self.path, f"{self.name}.{name}")


# A definition of the tree; a module of it, or something of another distribution, by dotted name; None for what cannot
# be told.
Target: TypeAlias = Symbol | str | None


class Imported(NamedTuple):
    """One name that an import binds.

    `local` is that name, or ``*``; `module` the absolute dotted name of the module, empty if dots lead out of the
    package; `name` the imported name, empty for the module itself; `alias` the syntax.
    """

    local: str
    module: str
    name: str
    alias: ast.alias

    @property
    def full(self) -> str:
        """The dotted name of the imported thing."""
        return f"{self.module}.{self.name}" if self.name else self.module
