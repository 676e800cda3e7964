"""Differences: a merged module and the wanted one → the symbols that differ."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from npu_overlays.authoring.refresh.proposals import dedented_text, only, text_of
from npu_overlays.merge.actions.wraps import private_name
from npu_overlays.model import classes_of
from npu_overlays.model.definitions import Definition
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import plain, symbols
from npu_overlays.overlay.operations import Operation


def text(module: Module, definition: Definition | None) -> str:
    """Return a definition as it is written, at column 0; an empty text for none."""
    return dedented_text(module, definition, comments=False) if definition else ""


def code(definition: Definition | None) -> str:
    """Return a definition's code without comments and layout; an empty text for none."""
    return ast.dump(definition.node) if definition else ""


def differing(now: Module, wanted: Module, operations: Mapping[str, Operation]) -> Iterator[str]:
    """Yield the symbols that differ, in the wanted order; of a class that stays, its members.

    `operations` are those on the module, by the symbols of what they give in it.
    """
    private = {_private(wanted, symbol) for symbol in symbols(wanted)}
    apart: dict[str, str] = {}
    for symbol, operation in operations.items():
        if operation.action == "wrapped":
            private.add(_private(now, symbol))
            # A wrapper whose original was edited is a wrapper no more: both are compared by themselves.
            if _is_original_edited(now, wanted, symbol):
                apart[symbol] = _private(now, symbol)
    private -= {*operations, *apart.values()}
    whole: dict[ast.stmt, str] = {}
    for symbol in dict.fromkeys([*symbols(wanted), *symbols(now)]):
        old, new = only(now, symbol), only(wanted, symbol)
        there = list(filter(None, (old, new)))
        if not there or plain(symbol) in private or any(_is_within(one, whole) for one in there):
            continue
        if old and new and _is_compared_by_member(old, new, operations.get(symbol), operations):
            continue
        for one in there:
            whole[one.node] = symbol
        if symbol in apart or _differs(now, wanted, old, new):
            yield symbol


def _private(module: Module, symbol: str) -> str:
    """Return the name that a symbol's original would have if it were wrapped; empty if there is no such symbol."""
    definition = only(module, symbol)
    return private_name(classes_of(module), module, definition) if definition else ""


def _is_within(definition: Definition, whole: Mapping[ast.stmt, str]) -> bool:
    """Return whether a definition is a member of one that is compared as a whole, or is assigned to one by its name."""
    inside = any(one.node in whole for one in definition.around if one is not definition)
    return inside or any(definition.name.startswith(f"{symbol}.") for symbol in whole.values())


def _is_original_edited(now: Module, wanted: Module, symbol: str) -> bool:
    """Return whether the original that a wrapper keeps is in both modules, with different code."""
    private = _private(now, symbol)
    old, new = only(now, private), only(wanted, private)
    return old is not None and new is not None and code(old) != code(new)


def _is_compared_by_member(
    old: Definition, new: Definition, known: Operation | None, operations: Mapping[str, Operation]
) -> bool:
    """Return whether a class is compared member by member."""
    if not isinstance(old.node, ast.ClassDef) or not isinstance(new.node, ast.ClassDef):
        return False
    if known is not None and known.action != "edited":
        return False
    has_operations = any(name.startswith(f"{old.name}.") for name in operations)
    return has_operations or _frame(old.node) == _frame(new.node)


def _frame(node: ast.ClassDef) -> tuple[object, ...]:
    """Return the part of a class that no operation on a member changes: its head, and statements that bind nothing."""
    head = list(map(ast.dump, (*node.bases, *node.keywords, *node.decorator_list)))
    bare = (ast.Expr, ast.If, ast.For, ast.With, ast.Try)
    return head, [ast.dump(one) for one in node.body if isinstance(one, bare)]


def _differs(now: Module, wanted: Module, old: Definition | None, new: Definition | None) -> bool:
    if old is None or new is None:
        # An import that is new is no change by itself: what needs it imports it.
        return new is None or new.kind != "import"
    return text_of(now, old) != text_of(wanted, new) and (code(old) != code(new) or text(now, old) != text(wanted, new))
