"""Callables: function or class of an environment → whether it can be called with a keyword."""

from __future__ import annotations

import ast

from npu_overlays.merging.gate.constructors import constructor
from npu_overlays.reads.upstream import ResolvedSymbol, Upstream
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode

# Under any other decorator, what is called may be something else.
_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "cache", "lru_cache", "no_grad", "inference_mode", "contextmanager", "override"}
    | {"abstractmethod", "overload"}
)


def takes(there: Upstream, found: ResolvedSymbol, keyword: str) -> bool | None:
    """Return whether what a name stands for takes a keyword; None where that cannot be told.

    Args:
        there: all that is installed.
        found: what the name stands for.
        keyword: the keyword.
    """
    if found.classes:
        return _constructor_takes(there, found, keyword) if len(found.nodes) == 1 else None
    answers = {_function_takes(node, keyword) if isinstance(node, FUNCTIONS) else None for node in found.nodes}
    return True if True in answers else None if None in answers or not answers or _is_imported(there, found) else False


def _is_imported(there: Upstream, found: ResolvedSymbol) -> bool:
    """Return whether a name may stand for what its module imports, too: the other branch of a ``try``."""
    return any(one.kind == "import" for one in there.model.classes.definitions(found.origin))


def _constructor_takes(there: Upstream, found: ResolvedSymbol, keyword: str) -> bool | None:
    made = constructor(there.model.classes, found.origin)
    if made is None or _is_imported(there, found):
        return None
    return keyword in made if isinstance(made, frozenset) else _function_takes(made, keyword)


def _function_takes(node: FunctionNode, keyword: str) -> bool | None:
    arguments = node.args
    if arguments.kwarg or any(one.arg == keyword for one in (*arguments.args, *arguments.kwonlyargs)):
        return True
    return False if all(map(_is_transparent, node.decorator_list)) else None


def _is_transparent(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _TRANSPARENT
