"""Symbols: what a name of a tree's module can stand for."""

from __future__ import annotations

import ast
from typing import NamedTuple, TypeAlias


class Symbol(NamedTuple):
    """A definition of the tree, by repository path and qualified name."""

    path: str
    name: str

    def member(self, name: str) -> Symbol:
        """Return what a class has under a name in its own body."""
        return Symbol(self.path, f"{self.name}.{name}")


# A definition of the tree; a module of it, or whatever another distribution has, by dotted name; None for what cannot
# be told.
Target: TypeAlias = Symbol | str | None


class Imported(NamedTuple):
    """One name that an import binds.

    `local` is that name, ``*`` of a star import; `module` the absolute dotted name of the module, empty where dots lead
    out of the package; `name` what is taken of it, empty where it is the module itself; `alias` the syntax.
    """

    local: str
    module: str
    name: str
    alias: ast.alias

    @property
    def full(self) -> str:
        """The dotted name of what it stands for."""
        return f"{self.module}.{self.name}" if self.name else self.module
