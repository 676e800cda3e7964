"""Functions: function → its kind (plain, generator, coroutine, …), and how it inspects its caller."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Literal

from npu_overlays.model.definitions import FUNCTIONS, FunctionNode
from npu_overlays.model.syntax import children, is_name, last_name, nodes_of

FunctionKind = Literal["plain function", "generator", "coroutine", "async generator"]
# What reads the frames below it, and so meets a wrapper: by attribute, by name, or as a keyword argument.
_LOOKERS = frozenset(
    {"_getframe", "_getframemodulename", "currentframe", "getouterframes", "extract_stack", "format_stack"}
    | {"print_stack", "walk_stack", "findCaller", "stacklevel", "stack_level"}
)
_STACK = "inspect.stack"
# Its place among the arguments of `warnings.warn`.
_STACKLEVEL = 2


def function_kind(node: FunctionNode) -> FunctionKind:
    """Return the kind of the bare function, without its decorators."""
    yields = any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in own_nodes(node))
    if isinstance(node, ast.AsyncFunctionDef):
        return "async generator" if yields else "coroutine"
    return "generator" if yields else "plain function"


def first_parameter(function: FunctionNode) -> str:
    """Return the name of a method's ``self`` or ``cls``; empty for a static method."""
    for decorator in function.decorator_list:
        if is_name(decorator, "staticmethod"):
            return ""
    known = [*function.args.posonlyargs, *function.args.args]
    return known[0].arg if known else ""


def a_kind(kind: FunctionKind) -> str:
    """Return a kind with its article."""
    return f"an {kind}" if kind.startswith("a") else f"a {kind}"


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """Yield the nodes that a function itself runs, without the bodies of nested functions and classes."""
    return nodes_run(function.body)


def nodes_run(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """Yield the nodes that statements themselves run, without the bodies of nested functions and classes."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        yield node
        pending += outer_parts(node)


def outer_parts(node: ast.AST) -> list[ast.AST]:
    """Return the children of a node that run in its own scope: of a function, its decorators and defaults."""
    if isinstance(node, (*FUNCTIONS, ast.Lambda)):
        defaults = filter(None, (*node.args.defaults, *node.args.kw_defaults))
        return [*getattr(node, "decorator_list", []), *defaults]
    if isinstance(node, ast.ClassDef):
        return [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
    return children(node)


def frame_lookers(node: FunctionNode) -> list[str]:
    """Return the sorted names by which a function reads its callers' frames."""
    found: set[str] = set()
    for inner in nodes_of(node):
        if isinstance(inner, ast.Attribute):
            is_stack = inner.attr == "stack" and is_name(inner.value, "inspect")
            found.add(_STACK if is_stack else inner.attr)
        elif isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.keyword):
            found.add(inner.arg or "")
        elif isinstance(inner, ast.Call) and last_name(inner.func) == "warn" and len(inner.args) > _STACKLEVEL:
            found.add("stacklevel")  # by position, which has a name elsewhere
    return sorted(found & {*_LOOKERS, _STACK})
