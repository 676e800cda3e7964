"""Absorption: an operation or a substitution, and upstream's text before and now → whether upstream made the change."""

from __future__ import annotations

import ast
import dataclasses

from npu_overlays.authoring.port.logical_lines import Words, is_made, syntax_of, words_of_lines
from npu_overlays.authoring.snapshots import Snapshot
from npu_overlays.errors import OverlayError
from npu_overlays.merge.module_merge import merge
from npu_overlays.merge.settings_text import ENDINGS, keyed_lines
from npu_overlays.model.fingerprint import dump, fingerprint
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.token_layout import layout_of
from npu_overlays.overlay.operations import EVERYTHING, Operation

# A definition with its module, and a line with the number of blocks around it.
_Defined = tuple[Module, ast.stmt]
_Statement = tuple[int, Words]


class Absorption:
    """Compares the result of operations on upstream with upstream as it is now.

    Args:
        base: upstream where the overlay was locked.
        distribution: name of the distribution built.
    """

    def __init__(self, base: Snapshot, distribution: str) -> None:
        self._base = base
        self._distribution = distribution
        self._results: dict[tuple[str, str], _Defined | None] = {}

    def evidence(self, operation: Operation, now: Snapshot) -> str:
        """Return the evidence that upstream made an operation's change itself; empty if there is none."""
        after = _defined(now.module(operation.path), operation.symbol)
        if after is None or operation.action not in ("added", "replaced", "edited"):
            return ""
        before, result = _defined(self._base.module(operation.path), operation.symbol), self._result(operation)
        if result is None or (before is not None and fingerprint(result[1]) == fingerprint(before[1])):
            return ""
        if fingerprint(after[1]) == fingerprint(result[1]):
            return "upstream's code is what the operation makes of it, layout and comments aside"
        if operation.action != "edited" or before is None:
            return ""
        is_there = is_made(_lines(before), _lines(result), _lines(after), contains=_contains)
        return "what it looks for is gone, and what it puts there stands in its place" if is_there else ""

    def _result(self, operation: Operation) -> _Defined | None:
        """Return the definition that the operation gives; None if the operation cannot be applied."""
        key = (operation.path, operation.symbol)
        if key not in self._results and operation.symbol != EVERYTHING:
            content = self._base.read(operation.path) if operation.path in self._base else b""
            alone = dataclasses.replace(operation, imports=(), before="")
            try:
                merged = merge(operation.path, content, [alone], distribution=self._distribution)[0]
                self._results[key] = _defined(Module(operation.path, merged), operation.symbol)
            except OverlayError:
                self._results[key] = None
        return self._results.get(key)


def _defined(module: Module | None, symbol: str) -> _Defined | None:
    known = chosen(module, symbol) if module is not None else []
    return (module, known[0].node) if module is not None and len(known) == 1 else None


def _lines(defined: _Defined) -> list[_Statement]:
    module, node = defined
    layout = layout_of(module.whole_text(node).decode())
    return list(zip(layout.levels, words_of_lines(layout), strict=True))


def _contains(one: _Statement, other: _Statement) -> bool:
    """Return whether a statement contains another one as a whole expression, for instance assigns its value."""
    (level, words), (other_level, part) = one, other
    expression = syntax_of(part)
    if level != other_level or not isinstance(expression, ast.Expr):
        return False
    sought, statement = dump(expression.value), syntax_of(words)
    if statement is None:
        return False
    return any(isinstance(node, ast.expr) and dump(node) == sought for node in ast.walk(statement))


def is_substituted(path: str, before: bytes, made: bytes, now: bytes) -> bool:
    """Return whether every line that a substitution puts into a file is in its place upstream now.

    Args:
        path: of the file; the place of a setting in YAML is its keys, that of another line the lines around it.
        before: the file where the overlay was locked.
        made: the file after the substitution.
        now: the file as it is now.
    """
    if path.endswith(ENDINGS):
        old, new, there = _settings(before), _settings(made), _settings(now)
        changed = [keys for keys in {**old, **new} if old.get(keys) != new.get(keys)]
        if changed:
            is_only_deleted = new.keys().isdisjoint(changed)
            return not is_only_deleted and all(there.get(keys) == new.get(keys) for keys in changed)
    return is_made(before.split(b"\n"), made.split(b"\n"), now.split(b"\n"))


def _settings(content: bytes) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return the lines of each setting by its keys."""
    text = content.decode(errors="replace")
    lines = text.split("\n")
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for one in keyed_lines(text):
        found[one.place] = (*found.get(one.place, ()), lines[one.number].strip())
    return found
