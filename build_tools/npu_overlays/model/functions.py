"""Functions: function → what a call of it gives, and by what it looks at its caller."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from npu_overlays.model.definitions import FunctionNode

FunctionKind = Literal["plain function", "generator", "coroutine", "async generator"]
# What reads the frames below it, and so meets a wrapper: by attribute, by name, or as a keyword argument.
_LOOKERS = frozenset(
    {
        "_getframe",
        "_getframemodulename",
        "currentframe",
        "getouterframes",
        "extract_stack",
        "format_stack",
        "print_stack",
        "walk_stack",
        "findCaller",
        "stacklevel",
        "stack_level",
    }
)
# Its place among the arguments of `warnings.warn`.
_STACKLEVEL = 2


def function_kind(node: FunctionNode) -> FunctionKind:
    """Return what a call of the bare function gives, whatever its decorators make of it."""
    yields = any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in own_nodes(node))
    if isinstance(node, ast.AsyncFunctionDef):
        return "async generator" if yields else "coroutine"
    return "generator" if yields else "plain function"


def first_parameter(function: FunctionNode) -> str:
    """Return the parameter that gets the object or the class a method is called on; empty for a static one."""
    static = any(getattr(one, "id", "") == "staticmethod" for one in function.decorator_list)
    known = [*function.args.posonlyargs, *function.args.args]
    return known[0].arg if known and not static else ""


def a_kind(kind: FunctionKind) -> str:
    """Return a kind with its article."""
    return f"an {kind}" if kind.startswith("a") else f"a {kind}"


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """Yield what a function's body holds and runs itself, without the bodies of functions and classes inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        pending += outer_parts(node)


def outer_parts(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node that run where the node stands: of a function, its decorators and defaults."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*node.decorator_list, *_defaults(node.args)]
    if isinstance(node, ast.Lambda):
        return list(_defaults(node.args))
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    return list(ast.iter_child_nodes(node))


def _defaults(arguments: ast.arguments) -> list[ast.expr]:
    return [default for default in (*arguments.defaults, *arguments.kw_defaults) if default is not None]


def frame_lookers(node: FunctionNode) -> list[str]:
    """Return by what names a function looks at the frames of its callers, sorted."""
    return sorted({name for inner in ast.walk(node) for name in _looker(inner)})


def _looker(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _gives_stacklevel(node):
        yield "stacklevel"
    elif isinstance(node, ast.Attribute):
        stack = node.attr == "stack" and isinstance(node.value, ast.Name) and node.value.id == "inspect"
        yield from ("inspect.stack",) if stack else (node.attr,) if node.attr in _LOOKERS else ()
    elif isinstance(node, ast.Name) and node.id in _LOOKERS:
        yield node.id
    elif isinstance(node, ast.keyword) and node.arg in _LOOKERS:
        yield node.arg


def _gives_stacklevel(call: ast.Call) -> bool:
    """Return whether a call is ``warnings.warn(message, category, 2)``: by position what has a name elsewhere."""
    leaf = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return leaf == "warn" and len(call.args) > _STACKLEVEL
