"""Read occurrences: overlay and upstream tree → what each operation and added file reads there.

A name in the overlay's text stands for a symbol of upstream's. If that is data, the names behind its value count too,
as far as they are data. If it is a class, so do the attributes of its objects that the text, or overlay code that it
calls, reads from any object. A literal dictionary is listed entry by entry. Bodies of functions are not examined.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from npu_overlays.contracts.overlay_code import CodePiece, OverlayCode
from npu_overlays.contracts.read_places import PieceReads, ReadPlace
from npu_overlays.contracts.reads import ReadOccurrence
from npu_overlays.contracts.symbol_descriptions import described
from npu_overlays.errors import Problem
from npu_overlays.merge.results import Applied
from npu_overlays.model.symbol_lookup import ResolvedSymbol, SymbolLookup
from npu_overlays.overlay.content import Content


@dataclass(kw_only=True)
class Dependencies:
    """Follows the reads of a piece of an overlay to their dependencies, each symbol once.

    Args:
        upstream: its upstream.
        asked: the attribute names read from any object.
    """

    upstream: SymbolLookup
    asked: frozenset[str]
    seen: set[tuple[str, str]] = field(default_factory=set)

    def reached(self, root: ReadPlace) -> Iterator[ResolvedSymbol]:
        """Yield the symbols behind one place that no earlier place had."""
        pending = [one for one in root.found if one.symbol]
        while pending:
            found = pending.pop(0)
            if (found.path, found.symbol) not in self.seen:
                self.seen.add((found.path, found.symbol))
                yield found
                pending += self._beyond(found)

    def _beyond(self, found: ResolvedSymbol) -> list[ResolvedSymbol]:
        """Return the sources of a symbol's value; for a class, the attributes read from its objects."""
        if found.classes:
            members = (self.upstream.member(found, name) for name in sorted(self.asked))
            return [one for one in members if one]
        beyond: list[ResolvedSymbol] = []
        for value in found.values:
            if not isinstance(value.node, ast.Dict):
                for names in value.chains():
                    beyond += self.upstream.chain(found.origin.path, names)[-1:]
        return [one for one in beyond if one.symbol]


def read_occurrences(content: Content, upstream: SymbolLookup, applied: Applied) -> tuple[ReadOccurrence, ...]:
    """Return an overlay's reads of upstream, in the order of its operations and files.

    Args:
        content: the overlay.
        upstream: its upstream.
        applied: the result of applying it there; names in an edit's replacements mean what they mean in that text.
    """
    codes = OverlayCode(content, applied)
    found: list[ReadOccurrence] = []
    for code in codes.all:
        found += _of(code, codes, upstream)
    return tuple(found)


def unmet_depends(content: Content, upstream: SymbolLookup) -> Iterator[Problem]:
    """Yield a problem for each symbol in `depends` that upstream lacks.

    Args:
        content: the overlay.
        upstream: its upstream.
    """
    for operation in content.operations:
        for name in operation.depends:
            path, _, symbol = name.partition(":")
            if path not in upstream.absent and upstream.find(path, symbol) is None:
                module = upstream.module(path)
                near = module.nearest(symbol) if module else ""
                what = f"`depends` names `{name}`, which upstream does not have"
                fix = f"nearest: `{path}:{near}`" if near else "correct the path and the name, or take it out"
                yield Problem(where=operation.where, what=what, fix=fix)


def _of(code: CodePiece, codes: OverlayCode, upstream: SymbolLookup) -> Iterator[ReadOccurrence]:
    """Yield the reads of one piece of an overlay; of several places that read one symbol, the first."""
    piece = PieceReads(code=code, codes=codes, upstream=upstream)
    follow = Dependencies(upstream=upstream, asked=piece.asked)
    for root in piece.roots():
        for found in follow.reached(root):
            yield ReadOccurrence(
                read=described(found, upstream), reader=code.reader, written=root.written, where=root.where
            )
    operation = code.operation
    if operation is None:
        return
    for name in operation.depends:
        path, _, symbol = name.partition(":")
        if there := upstream.find(path, symbol):
            read = described(there, upstream, whole=True)
            yield ReadOccurrence(read=read, reader=code.reader, written="depends", where=operation.where)
