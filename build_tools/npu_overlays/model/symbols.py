"""Symbols: what a name of a tree's module can stand for."""

from __future__ import annotations

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
