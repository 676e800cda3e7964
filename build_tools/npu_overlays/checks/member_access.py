"""Member access: syntax of a module → the places that read a member of something."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from npu_overlays.checks.references import guarded_parts
from npu_overlays.model.class_graph import ClassGraph, enclosing
from npu_overlays.model.definitions import FUNCTIONS, blocks
from npu_overlays.model.syntax import all_of, is_name

# By node the statements around it.
Around: TypeAlias = Mapping[ast.AST, tuple[ast.stmt, ...]]
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
# What Python asks an object for where a call, a `with`, a `for` and the like are evaluated.
OPERATORS = frozenset(
    {"__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__len__", "__iter__", "__getitem__"}
)
_WHETHER = frozenset({"hasattr", "getattr"})


def receivers(node: ast.AST, name: str) -> list[ast.expr]:
    """Return the expressions whose member a node reads."""
    if operands := _operands(node, name):
        return operands
    if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
        return [node.value]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute) and node.target.attr == name:
        return [node.target.value]
    if isinstance(node, ast.Call) and is_name(node.func, "getattr") and len(node.args) == 2:  # noqa: PLR2004  # without a default
        return node.args[:1] if getattr(node.args[1], "value", None) == name else []
    return []


def is_operator(node: ast.AST, name: str) -> bool:
    """Return whether a node reads a member by an operator, which Python looks up in the class, not the object."""
    return bool(_operands(node, name))


def _operands(node: ast.AST, name: str) -> list[ast.expr]:
    """Return the operands in which Python looks up ``__call__`` and the like to evaluate a node."""
    if isinstance(node, ast.Call):
        measured = name == "__len__" and is_name(node.func, "len")
        return [node.func] if name == "__call__" else node.args[:1] if measured else []
    if isinstance(node, (ast.With, ast.AsyncWith)):
        wanted = {"__aenter__", "__aexit__"} if isinstance(node, ast.AsyncWith) else {"__enter__", "__exit__"}
        return [one.context_expr for one in node.items] if name in wanted else []
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter] if name == "__iter__" else []
    return [node.value] if name == "__getitem__" and isinstance(node, ast.Subscript) else []


def of_class(asked: ast.expr) -> ast.expr:
    """Return the object of ``type(x)`` and ``x.__class__``."""
    if isinstance(asked, ast.Call) and is_name(asked.func, "type") and len(asked.args) == 1:
        return asked.args[0]
    return asked.value if isinstance(asked, ast.Attribute) and asked.attr == "__class__" else asked


def nodes_mentioning(graph: ClassGraph, word: re.Pattern[bytes]) -> Iterator[tuple[str, Around]]:
    """Yield the path and the nodes of every module whose text contains a word; the others are not parsed."""
    for path, content in graph.texts.items():
        module = graph.module(path) if word.search(content) else None
        if module is not None:
            yield path, enclosing(module)


def unsure_nodes(nodes: Iterable[ast.AST], name: str) -> set[ast.AST]:
    """Return every node that does not run, or only if something has the member."""
    found: set[ast.AST] = set()
    for node in nodes:
        for part in (*guarded_parts(node), *_behind_guards(node, name)):
            found.update(ast.walk(part))
    return found


def _behind_guards(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Yield the nodes that run only if a statement before them found the member."""
    bodies = [node.body] if isinstance(node, (*FUNCTIONS, ast.Module, ast.ClassDef)) else []
    if isinstance(node, ast.stmt):
        bodies += [block for _, block in blocks(node)]
    for body in bodies:
        for number, one in enumerate(body, start=1):
            leaves = isinstance(one, ast.Assert) or (isinstance(one, ast.If) and isinstance(one.body[-1], _LEAVING))
            if leaves and _asks_whether(getattr(one, "test", one), name):
                yield from body[number:]


def _asks_whether(test: ast.AST, name: str) -> bool:
    """Return whether a test asks whether something has a member."""
    for call in all_of(test, ast.Call):
        asks = getattr(call.func, "id", "") in _WHETHER and len(call.args) > 1
        if asks and getattr(call.args[1], "value", None) == name:
            return True
    return False
