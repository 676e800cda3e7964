"""Syntax: a module's bytes → its syntax tree, the same one for every stage; a tree → all nodes in it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate

# The modules of an overlay and what it makes of them; a stage that looks at more parses some of them again.
_KEPT = 256
# What an operation says is short, asked about several times, and one module can have a thousand.
_SHORT = 2_000
_SHORT_KEPT = 4096
_NAMELESS = frozenset({ast.Load, ast.Store, ast.Del})


def syntax_tree(content: bytes) -> ast.Module:
    """Return the syntax tree of a module, given as UTF-8 whatever it declares, which nobody may change.

    Raises:
        SyntaxError: where this Python cannot parse it.
        ValueError: likewise.
        RecursionError: where it is nested too deeply.
    """
    return _short(content) if len(content) <= _SHORT else _module(content)


def _tree(content: bytes) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # upstream's invalid escape sequences are upstream's business
        return ast.parse(content.decode())


_module = lru_cache(maxsize=_KEPT)(_tree)
_short = lru_cache(maxsize=_SHORT_KEPT)(_tree)


def line_starts(lines: Iterable[bytes]) -> list[int]:
    """Return the byte at which each line begins, and the one behind the last; line ends are part of the lines."""
    return list(accumulate(map(len, lines), initial=0))


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """Return a node and all below it, as `ast.walk` yields them in twice the time, but no `ast.expr_context`."""
    found = [tree]
    for node in found:
        known = node.__dict__
        for name in node._fields:
            value = known.get(name)
            if isinstance(value, list):
                found += [one for one in value if isinstance(one, ast.AST)]
            elif isinstance(value, ast.AST) and type(value) not in _NAMELESS:
                found.append(value)
    return found
