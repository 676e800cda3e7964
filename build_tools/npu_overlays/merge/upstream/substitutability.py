"""Substitutability: a definition and its replacement → how the replacement breaks callers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.merge.upstream.early_calls import body
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, FunctionNode, stored_names
from npu_overlays.model.fingerprint import brief, dump
from npu_overlays.model.functions import a_kind, function_kind
from npu_overlays.model.selectors import accessor
from npu_overlays.model.signatures import replacement_mismatch, signature_text
from npu_overlays.model.syntax import called

# How callers get at a function, by its decorator.
_BOUND = {
    "property": "a property",
    "cached_property": "a property",
    "staticmethod": "a static method",
    "classmethod": "a class method",
}
# Python treats these so without a decorator.
_IMPLIED = {"__new__": "staticmethod", "__init_subclass__": "classmethod", "__class_getitem__": "classmethod"}
# Expressions that are certainly no function.
_VALUES = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.BinOp, ast.UnaryOp, ast.Compare, ast.JoinedStr)
_MANAGERS = frozenset({"contextmanager", "asynccontextmanager"})
_MANAGER = "a context manager"
# Under these a function is to its callers what it is without.
_TRANSPARENT = frozenset({"abstractmethod", "cache", "final", "inference_mode", "lru_cache", "no_grad", "override"})
_KNOWN = _BOUND.keys() | _MANAGERS | _TRANSPARENT


def misfit(own: FunctionNode, theirs: FunctionNode) -> tuple[str, str] | None:
    """Return how a replacement breaks the callers of a function, as the rest of a sentence, and what to do, or None.

    A function under an unknown decorator is not examined.
    """
    if _bound(own) != _bound(theirs) and _leaves(own) - _leaves(theirs) <= _KNOWN:
        return f"is {_bound(own)}, upstream's is {_bound(theirs)}", "write it under upstream's decorators"
    alike = set(map(dump, _stated(own))) == set(map(dump, _stated(theirs)))
    if not alike and not (_leaves(own) ^ _leaves(theirs)) <= _KNOWN:
        return None
    mine, wanted = _given(own, plain=alike), _given(theirs, plain=alike)
    if mine != wanted and {mine, wanted} != {_MANAGER, a_kind("plain function")}:
        return f"is {mine}, upstream's is {wanted}", "keep the kind its callers expect"
    if differs := replacement_mismatch(own.args, theirs.args):
        known = signature_text(theirs.args)
        return differs, f"keep upstream's parameters, {known}; where no caller is left that gives them, use @edited"
    return None


def unlike(
    own: ast.stmt, theirs: ast.stmt, own_classes: ClassGraph, their_classes: ClassGraph, path: str
) -> Iterator[str]:
    """Yield how a replacement differs from a function or a class, perhaps on purpose, each as the rest of a sentence.

    It may leave out decorators, or have members of another kind, or methods that break the callers of upstream's.

    Args:
        own: the replacement.
        theirs: what it replaces.
        own_classes: of the tree with the replacement's text as the module.
        their_classes: of the tree.
        path: of the module in both.
    """
    known: set[str] = set()
    for decorator in _stated(own):
        known |= _names(decorator, own_classes, path)
    left = [one for one in _stated(theirs) if not known & _names(one, their_classes, path)]
    if left and (instead := _instead(own, theirs)):
        yield instead
        left = [one for one in left if _leaf(one) not in _BOUND]
    if left:
        yield f"leaves out {' '.join(f'@{brief(one)}' for one in left)}"
    members, others = _methods(own), _others(own)
    for (name, accessed), one in _methods(theirs).items():
        here = members.get((name, accessed))
        if here is None and name in others and _bound(one) != "a property":
            yield f"has a `{name}` that is {others[name]}, upstream's is {_bound(one)}"
        elif here is None and accessed and (name, "") in members:
            yield f"has a `{name}` that leaves out {accessed}"
        elif wrong := misfit(here, one) if here else None:
            yield f"has a `{name}` that {wrong[0]}"
        elif here:
            for what in unlike(here, one, own_classes, their_classes, path):
                yield f"has a `{name}` that {what}"


def _instead(own: ast.stmt, theirs: ast.stmt) -> str:
    """Return a function's decorator that binds it like another one, or an empty text."""
    mine = [one for one in _stated(own) if _leaf(one) in _BOUND]
    wanted = [one for one in _stated(theirs) if _leaf(one) in _BOUND]
    alike = isinstance(own, FUNCTIONS) and isinstance(theirs, FUNCTIONS) and _bound(own) == _bound(theirs)
    return f"has @{brief(mine[0])} for @{brief(wanted[0])}" if alike and mine and wanted else ""


def _others(node: ast.stmt) -> dict[str, str]:
    """Return the members of a class that are certainly no functions, with their kinds."""
    found: dict[str, str] = {}
    for one in body(node):
        if isinstance(one, ast.ClassDef):
            found[one.name] = "a class"
        elif isinstance(getattr(one, "value", None), _VALUES):
            found |= dict.fromkeys(stored_names(one), "a value")
    return found


def _methods(node: ast.stmt) -> dict[tuple[str, str], FunctionNode]:
    """Return the methods of a class by name and, for a property, by accessor; the last of several definitions."""
    return {(one.name, accessor(one)): one for one in body(node) if isinstance(one, FUNCTIONS)}


def _stated(node: ast.stmt) -> list[ast.expr]:
    """Return the decorators of a definition that Python does not apply by itself."""
    listed: list[ast.expr] = getattr(node, "decorator_list", [])
    return [one for one in listed if getattr(one, "id", "") != _IMPLIED.get(getattr(node, "name", ""))]


def _names(decorator: ast.expr, classes: ClassGraph, path: str) -> set[str]:
    """Return comparable names of a decorator: as written, and its full names with its arguments."""
    given = dump(ast.Call(ast.Name("_"), decorator.args, decorator.keywords)) if isinstance(decorator, ast.Call) else ""
    return {dump(decorator), *(f"{name} {given}" for name in classes.names(path, called(decorator)))}


def _leaves(node: FunctionNode) -> set[str]:
    return set(map(_leaf, _stated(node)))


def _leaf(decorator: ast.expr) -> str:
    return ast.unparse(called(decorator)).rpartition(".")[2]


def _bound(node: FunctionNode) -> str:
    leaves = {*_leaves(node), _IMPLIED.get(node.name, "")}
    return next((text for leaf, text in _BOUND.items() if leaf in leaves), "a function")


def _given(node: FunctionNode, *, plain: bool) -> str:
    """Return the kind of a function's result; if `plain`, without its decorators."""
    return _MANAGER if not plain and _leaves(node) & _MANAGERS else a_kind(function_kind(node))
