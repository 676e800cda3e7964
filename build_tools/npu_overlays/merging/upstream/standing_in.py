"""Standing in: a definition, and one that is to stand in its place → what its callers would meet otherwise."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merging.upstream.signatures import unaccepted, written
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode
from npu_overlays.syntax.fingerprint import brief, dump
from npu_overlays.syntax.functions import a_kind, function_kind

# How callers get at a function, by its decorator.
_BOUND = {
    "property": "a property",
    "cached_property": "a property",
    "staticmethod": "a static method",
    "classmethod": "a class method",
}
_MANAGERS = frozenset({"contextmanager", "asynccontextmanager"})
_MANAGER = "a context manager"
# Under these a function is to its callers what it is without.
_TRANSPARENT = frozenset({"abstractmethod", "cache", "final", "inference_mode", "lru_cache", "no_grad", "override"})
_KNOWN = _BOUND.keys() | _MANAGERS | _TRANSPARENT


def misfit(own: FunctionNode, theirs: FunctionNode) -> tuple[str, str] | None:
    """Return how a replacement is none to the callers of a function, and what to do; None where it may be one.

    What is wrong is the rest of a sentence. What a decorator that is not known makes of a function is not known either.
    """
    if _bound(own) != _bound(theirs) and _leaves(own) - _leaves(theirs) <= _KNOWN:
        return f"is {_bound(own)}, upstream's is {_bound(theirs)}", "write it under upstream's decorators"
    alike = _decorators(own) == _decorators(theirs)
    if not alike and not (_leaves(own) ^ _leaves(theirs)) <= _KNOWN:
        return None
    kinds = [a_kind(function_kind(one)) if alike else _given(one) for one in (own, theirs)]
    if kinds[0] != kinds[1] and {*kinds} != {_MANAGER, a_kind("plain function")}:
        return f"is {kinds[0]}, upstream's is {kinds[1]}", "keep the kind its callers expect"
    if differs := unaccepted(own.args, theirs.args):
        wanted = written(theirs.args)
        return differs, f"keep upstream's parameters, {wanted}; where no caller is left that gives them, use @edited"
    return None


def unlike(own: ast.stmt, theirs: ast.stmt) -> Iterator[str]:
    """Yield what of a function or a class a replacement has otherwise and may have so, each as the rest of a sentence.

    Those are decorators that it leaves out, and methods of a class that are none to the callers of upstream's.
    """
    if left := [text for text in _decorators(theirs) if text not in _decorators(own)]:
        yield f"leaves out {' '.join(_decorators(theirs)[text] for text in left)}"
    methods = _methods(own)
    for name, one in _methods(theirs).items():
        if wrong := misfit(methods[name], one) if name in methods else None:
            yield f"has a `{name}` that {wrong[0]}"
        elif name in methods:
            yield from (f"has a `{name}` that {what}" for what in unlike(methods[name], one))


def _methods(node: ast.stmt) -> dict[str, FunctionNode]:
    """Return the methods of a class by name, of several the last."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    return {one.name: one for one in body if isinstance(one, FUNCTIONS)}


def _decorators(node: ast.stmt) -> dict[str, str]:
    """Return the decorators of a definition in order, to compare, and to show."""
    listed: list[ast.expr] = getattr(node, "decorator_list", [])
    return {dump(one): f"@{brief(one)}" for one in listed}


def _leaves(node: FunctionNode) -> set[str]:
    called = (one.func if isinstance(one, ast.Call) else one for one in node.decorator_list)
    return {ast.unparse(one).rpartition(".")[2] for one in called}


def _bound(node: FunctionNode) -> str:
    return next((text for leaf, text in _BOUND.items() if leaf in _leaves(node)), "a function")


def _given(node: FunctionNode) -> str:
    return _MANAGER if _leaves(node) & _MANAGERS else a_kind(function_kind(node))
