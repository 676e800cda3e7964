"""Absorption: an operation and what upstream has in its place now → the evidence that upstream does it itself."""

from __future__ import annotations

import ast
import dataclasses

from npu_overlays.errors import OverlayError
from npu_overlays.merging.merge import merge
from npu_overlays.model.fingerprint import dump, fingerprint
from npu_overlays.model.logical_lines import layout_of
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.overlay.operations import EVERYTHING, Operation
from npu_overlays.porting.alignment import is_made, statements
from npu_overlays.porting.fitting import Modules
from npu_overlays.porting.lines import syntax_of
from npu_overlays.porting.revision import Revision

# The one definition of a symbol, in its module.
_Defined = tuple[Module, ast.stmt]
# In how many blocks it stands, and its words.
_Statement = tuple[int, tuple[str, ...]]


class Absorption:
    """Compares what an operation makes of upstream with what upstream has become.

    Args:
        base: upstream where the overlay was locked.
        modules: parses.
        distribution: name of the distribution built.
    """

    def __init__(self, base: Revision, modules: Modules, distribution: str) -> None:
        self._base = base
        self._modules = modules
        self._distribution = distribution
        self._made: dict[tuple[str, str], _Defined | None] = {}

    def evidence(self, operation: Operation, now: Revision) -> str:
        """Return why an operation's change seems to be upstream's own now, or an empty text where nothing says so."""
        there = _defined(self._modules.get(now, operation.path), operation.symbol)
        if there is None or operation.action not in ("added", "replaced", "edited"):
            return ""
        made = self._result(operation)
        before = _defined(self._modules.get(self._base, operation.path), operation.symbol)
        if made is None or (before is not None and fingerprint(made[1]) == fingerprint(before[1])):
            return ""
        if fingerprint(there[1]) == fingerprint(made[1]):
            return "upstream's code is what the operation makes of it, layout and comments aside"
        if operation.action != "edited" or before is None:
            return ""
        is_there = is_made(*map(_indented, (before, made, there)), holds=_holds)
        return "what it looks for is gone, and what it puts there stands in its place" if is_there else ""

    def _result(self, operation: Operation) -> _Defined | None:
        """Return what the operation makes of its definition; None where that is not known."""
        key = (operation.path, operation.symbol)
        if key not in self._made:
            self._made[key] = self._merged(operation)
        return self._made[key]

    def _merged(self, operation: Operation) -> _Defined | None:
        content = self._base.read(operation.path) if operation.path in self._base else b""
        if operation.symbol == EVERYTHING:
            return None
        alone = dataclasses.replace(operation, imports=(), before="")
        try:
            merged = merge(operation.path, content, [alone], distribution=self._distribution)[0]
            return _defined(Module(operation.path, merged), operation.symbol)
        except OverlayError:
            return None


def _defined(module: Module | None, symbol: str) -> _Defined | None:
    known = chosen(module, symbol) if module is not None else []
    return (module, known[0].node) if module is not None and len(known) == 1 else None


def _indented(defined: _Defined) -> list[_Statement]:
    module, node = defined
    layout = layout_of(module.whole_text(node).decode())
    return list(zip(layout.levels, statements(layout), strict=True))


def _holds(one: _Statement, other: _Statement) -> bool:
    """Return whether a statement has another one as a whole expression in it, as where its value is assigned now."""
    (level, words), (its, part) = one, other
    made = syntax_of(part)
    if level != its or not isinstance(made, ast.Expr):
        return False
    sought, there = dump(made.value), syntax_of(words)
    return there is not None and any(isinstance(node, ast.expr) and dump(node) == sought for node in ast.walk(there))
