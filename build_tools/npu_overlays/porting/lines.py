"""Lines: the words of one logical line → its syntax, the names that it binds, and what it says of its own."""

from __future__ import annotations

import ast
import keyword
from collections import Counter
from collections.abc import Iterator

from npu_overlays.model.parsing import parsed

_Words = tuple[str, ...]


def syntax_of(words: _Words) -> ast.stmt | None:
    """Return a line's syntax, the head of a block with nothing in it; None for a part of a statement, as ``else:``."""
    text = " ".join(words)
    for whole in (text, f"{text} pass"):
        try:
            return next(iter(parsed(whole.encode()).body), None)
        except (SyntaxError, ValueError):
            continue
    return None


def names_bound(words: _Words) -> frozenset[str]:
    """Return the names that a line binds, an attribute by its own: what was assigned may be a member now."""
    node = syntax_of(words)
    return frozenset(name for one in (ast.walk(node) if node else ()) for name in _bound(one))


def _bound(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
        yield node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def is_like(words: _Words, find: _Words) -> bool:
    """Return whether a line says more than half of what a find says, in whatever order."""
    sought = _said(find)
    return 2 * (sought & _said(words)).total() > sought.total()


def _said(words: _Words) -> Counter[str]:
    """Return the names and values of a line: marks and keywords stand in most."""
    return Counter(word for word in words if (word[0].isalnum() or word[0] in "_\"'") and not keyword.iskeyword(word))
