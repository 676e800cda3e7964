"""Callers: a class of upstream's and what stands in its place → whether that is called otherwise."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.constructor_text import constructor_text
from npu_overlays.model.signatures import unaccepted

_DIGEST = re.compile("<[0-9a-f]{8}>")
_UNKNOWN = "()"


def called_otherwise(before: ClassGraph, after: ClassGraph, symbol: Symbol) -> Iterator[str]:
    """Yield how a class does not take what upstream's callers give, as the rest of a sentence.

    Args:
        before: upstream's classes.
        after: those that are shipped.
        symbol: the class.
    """
    theirs, own = constructor_text(before, symbol), constructor_text(after, symbol)
    both = all(any(getattr(one, "name", "") == "__init__" for one in _body(graph, symbol)) for graph in (before, after))
    if both or theirs in (own, _UNKNOWN):  # of two functions their contract says it
        return
    if own == _UNKNOWN:
        yield f"has nothing that says what it is called with, upstream's is called with `{theirs}`"
    elif differs := _refused(own, theirs):
        yield f"is called with `{own}`, upstream's with `{theirs}`: it {differs}"


def _refused(own: str, theirs: str) -> str:
    mine, wanted = _arguments(own), _arguments(theirs)
    if mine is None or wanted is None:
        return "is made in another way"
    return unaccepted(mine, wanted)


def _arguments(text: str) -> ast.arguments | None:
    """Return the parameters that a text lists, without that for the object itself; None where it lists several."""
    try:
        (function,) = ast.parse(f"def f{_DIGEST.sub('0', text)}: ...").body
    except SyntaxError:
        return None
    assert isinstance(function, ast.FunctionDef)  # noqa: S101  # which it was parsed as
    arguments = function.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
        arguments.defaults = arguments.defaults[-len(arguments.args) :] if arguments.args else []
    return arguments


def _body(graph: ClassGraph, symbol: Symbol) -> list[ast.stmt]:
    node = graph.node(symbol)
    return node.body if node else []
