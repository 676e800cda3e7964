"""Callables: function or class of an environment → whether it can be called with a keyword."""

from __future__ import annotations

import ast

from npu_overlays.reads import Upstream
from npu_overlays.reads.upstream import Found
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode

# Under any other decorator, what is called may be something else.
_TRANSPARENT = frozenset(
    {"staticmethod", "classmethod", "cache", "lru_cache", "no_grad", "inference_mode", "contextmanager", "override"}
    | {"abstractmethod", "overload"}
)


def takes(there: Upstream, found: Found, keyword: str) -> bool | None:
    """Return whether what a name stands for takes a keyword; None where that cannot be told.

    Args:
        there: all that is installed.
        found: what the name stands for.
        keyword: the keyword.
    """
    if found.classes:
        return _constructor_takes(there, found, keyword)
    answers = {_function_takes(node, keyword) if isinstance(node, FUNCTIONS) else None for node in found.nodes}
    return True if True in answers else None if None in answers or not answers else False


def _constructor_takes(there: Upstream, found: Found, keyword: str) -> bool | None:
    own = there.member(found, "__init__")
    if own is None or own.home != found.home or there.member(found, "__new__"):
        return None
    if any(one.decorator_list or one.keywords for one in found.classes):
        return None
    return takes(there, own, keyword)


def _function_takes(node: FunctionNode, keyword: str) -> bool | None:
    arguments = node.args
    if arguments.kwarg or any(one.arg == keyword for one in (*arguments.args, *arguments.kwonlyargs)):
        return True
    return False if all(map(_is_transparent, node.decorator_list)) else None


def _is_transparent(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in _TRANSPARENT
