"""Absorption: an operation and what upstream has in its place now → the evidence that upstream does it itself."""

from __future__ import annotations

import ast
import dataclasses

from npu_overlays.errors import OverlayError
from npu_overlays.merging.merge import merge
from npu_overlays.overlay.operations import EVERYTHING, Operation
from npu_overlays.porting.fitting import Modules
from npu_overlays.porting.revision import Revision
from npu_overlays.syntax.fingerprint import fingerprint
from npu_overlays.syntax.logical import layout_of
from npu_overlays.syntax.symbols import Module


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
        self._made: dict[tuple[str, str], str] = {}

    def evidence(self, operation: Operation, now: Revision) -> str:
        """Return why an operation's change seems to be upstream's own now, or an empty text where nothing says so."""
        module = self._modules.get(now, operation.path)
        known = module.definitions.get(operation.symbol, []) if module is not None else []
        if module is None or len(known) != 1 or operation.action not in ("added", "replaced", "edited"):
            return ""
        if _code(known[0].node) == self._result(operation):
            return "upstream's code is what the operation makes of it, layout and comments aside"
        if operation.action == "edited" and _replaced_already(operation, module):
            return "what it looks for is gone, and what it puts there stands in its place"
        return ""

    def _result(self, operation: Operation) -> str:
        """Return the fingerprint of what the operation makes; empty where that is not known."""
        key = (operation.path, operation.symbol)
        if key not in self._made:
            self._made[key] = self._fingerprint(operation)
        return self._made[key]

    def _fingerprint(self, operation: Operation) -> str:
        content = self._base.read(operation.path) if operation.path in self._base else b""
        if operation.symbol == EVERYTHING:
            return ""
        alone = dataclasses.replace(operation, imports=(), before="")
        try:
            merged = merge(operation.path, content, [alone], distribution=self._distribution)[0]
            known = Module(operation.path, merged).definitions.get(operation.symbol, [])
        except OverlayError:
            return ""
        return _code(known[0].node) if len(known) == 1 else ""


def _code(node: ast.stmt) -> str:
    return fingerprint(node)


def _replaced_already(operation: Operation, module: Module) -> bool:
    """Return whether every find that is gone has its replacement in its place; one at least must be gone."""
    layout = layout_of(module.whole_text(module.definitions[operation.symbol][0].node).decode())
    gone = [edit for edit in operation.edits if not layout.occurrences(layout_of(edit.find))]
    there = [edit for edit in gone if edit.replace.strip() and layout.occurrences(layout_of(edit.replace))]
    return bool(gone) and len(there) == len(operation.edits)
