"""Fragments: code that goes into other code → the complete expressions it consists of.

``a + b`` is one expression by itself, but not after ``c *``: there Python reads ``c * a`` first.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from npu_overlays.model.syntax import call_arguments
from npu_overlays.model.token_layout import TokenLayout, layout_of

FragmentKind = Literal["values", "named", "statements", "none"]
_OPERATIONS = (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Lambda, ast.Await, ast.Yield)
_OPENERS = {"elif": "if 1: pass\n", "else": "if 1: pass\n", "except": "try: pass\n", "finally": "try: pass\n"}

Range = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class FragmentValue:
    """One complete expression of a fragment: its tokens, and whether an operator holds it together."""

    tokens: Range
    operation: bool


@dataclass(frozen=True, kw_only=True)
class Fragment:
    """How Python reads a piece of code."""

    layout: TokenLayout
    # Expressions side by side (``values``), arguments or entries, some with names (``named``), whole
    # ``statements`` or heads of some, or ``none`` of these, such as ``f(``.
    kind: FragmentKind
    values: tuple[FragmentValue, ...] = ()  # its outermost expressions; of names, what they are given


def read_fragment(text: str) -> Fragment:
    """Return how Python reads a text by itself."""
    layout = layout_of(text)
    if not layout.tokens:
        return Fragment(layout=layout, kind="none")
    if layout.lines[-1] == 0:
        for opening, closing in (("(", ")"), ("_(", ")"), ("{", "}")):
            if found := _enclosed(layout, opening, closing):
                return found
    return _statements(layout)


def is_chain(text: str) -> bool:
    """Return whether a text can be a suffix of an expression: ``.a``, ``(x)``, ``[0].b()``."""
    tree = _parse(f"_{text}")
    body = tree.body if tree else []
    return len(body) == 1 and isinstance(body[0], ast.Expr) and _is_chain(body[0].value)


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return isinstance(node, ast.Name) and node.id == "_"


def _enclosed(layout: TokenLayout, opening: str, closing: str) -> Fragment | None:
    """Return a fragment of expressions, parsed inside brackets."""
    text = f"{opening}\n{layout.source}\n{closing}"
    tree = _parse(text)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    node = tree.body[0].value
    parts: list[ast.AST] = [node]
    named = False
    if node.lineno == 1:
        # The brackets are the node's own: it is what stands side by side in them.
        parts, named = _side_by_side(node)
    if not parts or any(getattr(part, "lineno", 1) == 1 for part in parts):
        return None
    places = _Places(text)
    values = [_value(places, part, len(opening)) for part in parts]
    return Fragment(layout=layout, kind="named" if named else "values", values=tuple(values))


def _side_by_side(node: ast.expr) -> tuple[list[ast.AST], bool]:
    if isinstance(node, ast.Tuple):
        return list(node.elts), False
    if isinstance(node, ast.Call):
        return [*call_arguments(node)], bool(node.keywords)
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return list(filter(None, chain.from_iterable(pairs))), True
    return [], False


def _statements(layout: TokenLayout) -> Fragment:
    """Return a fragment of whole statements or of a statement's head; its kind is ``none`` if it is neither."""
    margin = layout.margins[0]
    opener = _OPENERS.get(layout.texts[0], "")
    code = "\n".join(line.removeprefix(margin) for line in layout.source.strip("\n").split("\n"))
    skipped = len(layout_of(opener).tokens)
    tails = ["\n pass"] if layout.texts[-1] == ":" else ["", ":\n pass"]
    for tail in tails:
        text = f"{opener}{code}{tail}"
        if (tree := _parse(text)) is not None:
            places = _Places(text)
            found = [_value(places, node, skipped) for node in _outermost(tree)]
            return Fragment(layout=layout, kind="statements", values=tuple(one for one in found if one.tokens[0] >= 0))
    return Fragment(layout=layout, kind="none")


def _outermost(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the outermost expressions."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.expr):
            yield child
        else:
            yield from _outermost(child)


def _value(places: _Places, node: ast.AST, skipped: int) -> FragmentValue:
    first, behind = places.tokens(node)
    return FragmentValue(tokens=(first - skipped, behind - skipped), operation=isinstance(node, _OPERATIONS))


def _parse(text: str) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            return None


class _Places:
    """Maps syntax nodes to the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line.encode()) + 1)
        self.layout = layout_of(text)

    def tokens(self, node: ast.AST) -> Range:
        """Return the first token of a node and the one after it; None if the node does not begin and end at tokens."""
        start = self._lines[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]  # expressions have places
        end = self._lines[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]  # likewise
        return self.layout.starts.get(start, -1), self.layout.ends.get(end, -1)
