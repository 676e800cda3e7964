"""Edited definitions: an edit and the applied overlay → the shipped definition, and its new nodes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.merge.authorship import Authorship
from npu_overlays.merge.results import Applied
from npu_overlays.model.fingerprint import dump
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen, plain
from npu_overlays.overlay.operations import Operation


@dataclass(frozen=True, kw_only=True)
class EditedDefinition:
    """A definition of upstream's with an edit's substitutions in it."""

    tree: ast.Module
    written: frozenset[ast.AST]  # those of its nodes that the edit wrote, or that mean what they do by what it wrote


class MergedModules:
    """The modules of edits, upstream's and shipped.

    Args:
        applied: what applying the overlay gave.
    """

    def __init__(self, applied: Applied) -> None:
        self._applied = applied

    def edited(self, operation: Operation) -> EditedDefinition:
        """Return an edited definition; nothing if the source lacks the file, or this Python cannot parse it."""
        path, symbol = operation.path, operation.symbol
        before, after = self._applied.before.modules.module(path), self._applied.after.modules.module(path)
        authorship = self._applied.authorship.get(path)
        if before is None or after is None or authorship is None:
            return EditedDefinition(tree=ast.Module(body=[], type_ignores=[]), written=frozenset())
        known = frozenset(map(dump, _found(before, authorship, symbol)))
        hand = _Hand(module=after, authorship=authorship, where=operation.where, known=known)
        tree_after = ast.Module(body=_body(after, symbol), type_ignores=[])
        return EditedDefinition(tree=tree_after, written=frozenset(hand.written(tree_after)))


def _body(module: Module, symbol: str) -> list[ast.stmt]:
    return [one.node for one in chosen(module, symbol) or chosen(module, plain(symbol))]


def _found(module: Module, authorship: Authorship, symbol: str) -> Iterator[ast.AST]:
    """Yield the exchanged parts of an upstream definition, whose replacements may repeat them."""
    gone = list(_gone(authorship, len(module.content)))
    pending: list[ast.AST] = [*_body(module, symbol)]
    while pending:
        node = pending.pop()
        first, last = module.span(node) if isinstance(node, ast.expr) else (-1, -1)
        if any(start <= first and last <= end for start, end in gone):
            yield from ast.walk(node)
        elif not isinstance(node, ast.JoinedStr):  # inside, positions differ from Python to Python
            pending += ast.iter_child_nodes(node)


def _gone(authorship: Authorship, size: int) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of upstream's module that are gone, given its length."""
    start = 0
    for kept in authorship.stretches:
        if kept.origin is not None:
            yield start, kept.origin
            start = kept.origin + kept.end - kept.start
    yield start, size


@dataclass(frozen=True, kw_only=True)
class _Hand:
    """The bytes of a module that one operation wrote, without text that it repeats from upstream."""

    module: Module
    authorship: Authorship  # of the module's bytes
    where: str  # the operation
    known: frozenset[str]  # the expressions that stood there, as `dump` writes them

    def written(self, tree: ast.AST) -> Iterator[ast.AST]:
        """Yield the new nodes; a repeated name counts if it is called or passed on differently."""
        pending = [(tree, False, False)]
        while pending:
            node, inside, handed = pending.pop()
            named = handed and isinstance(node, (ast.Name, ast.Attribute))
            if not named and isinstance(node, ast.expr) and dump(node) in self.known:
                continue
            if isinstance(node, ast.JoinedStr) and not inside and not (inside := self._touches(node)):
                continue
            own = inside or self._decides(node)
            if own:
                yield node
            if own and isinstance(node, ast.Call):
                yield node.func
            handed = own and isinstance(node, (ast.Call, ast.keyword, ast.Starred))
            pending += [(one, inside, handed) for one in ast.iter_child_nodes(node)]

    def _decides(self, node: ast.AST) -> bool:
        """Return whether it wrote a node: any name of ``a.b``, or an argument of a call."""
        if isinstance(node, ast.Attribute):
            inner = self._decides if isinstance(node.value, ast.Attribute) else self._whole
            return self._wrote(self._end(node)) or inner(node.value)
        given = (*node.args, *node.keywords) if isinstance(node, ast.Call) else ()
        return self._whole(node) or any(map(self._whole, given))

    def _whole(self, node: ast.AST) -> bool:
        return hasattr(node, "lineno") and self._wrote(self._start(node)) and self._wrote(self._end(node))

    def _touches(self, node: ast.expr) -> bool:
        return any(map(self._wrote, range(self._start(node), self._end(node) + 1)))

    def _wrote(self, offset: int) -> bool:
        stretch = self.authorship.at(offset)
        return stretch.origin is None and stretch.where == self.where

    def _start(self, node: ast.AST) -> int:
        return self.module.offset(getattr(node, "lineno", 1)) + int(getattr(node, "col_offset", 0))

    def _end(self, node: ast.AST) -> int:
        """Return the offset of a node's last byte."""
        return self.module.offset(getattr(node, "end_lineno", 1)) + int(getattr(node, "end_col_offset", 1)) - 1
