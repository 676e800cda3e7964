"""Following: a place that reads upstream → every symbol that what it reads depends on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from npu_overlays.reads.pieces import Root
from npu_overlays.reads.upstream import ResolvedSymbol, Upstream


@dataclass(kw_only=True)
class Following:
    """Follows what a piece of an overlay reads to all that it depends on, each symbol once.

    Args:
        upstream: its upstream.
        asked: the attributes that are asked for, of objects of whatever class.
    """

    upstream: Upstream
    asked: frozenset[str]
    seen: set[tuple[str, str]] = field(default_factory=set)

    def reached(self, root: Root) -> Iterator[ResolvedSymbol]:
        """Yield the symbols that one place leads to, and that no earlier one led to."""
        pending = [one for one in root.found if one.symbol]
        while pending:
            found = pending.pop(0)
            if (found.path, found.symbol) not in self.seen:
                self.seen.add((found.path, found.symbol))
                yield found
                pending += self._beyond(found)

    def _beyond(self, found: ResolvedSymbol) -> list[ResolvedSymbol]:
        """Return what a symbol has its value from, or of a class, what is asked for of its objects."""
        if found.classes:
            members = (self.upstream.member(found, name) for name in sorted(self.asked))
            return [one for one in members if one]
        beyond: list[ResolvedSymbol] = []
        for value in found.values:
            for names in value.chains() if not isinstance(value.node, ast.Dict) else ():
                beyond += self.upstream.chain(found.origin.path, names)[-1:]
        return [one for one in beyond if one.symbol]
