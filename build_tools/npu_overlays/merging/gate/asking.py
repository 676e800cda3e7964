"""Asking: function or module → the places in it that ask something for a member, and what its variables hold."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.merging.gate.references import guarded_parts
from npu_overlays.syntax.definitions import FUNCTIONS, FunctionNode, blocks
from npu_overlays.syntax.functions import first_parameter

_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
# What Python asks an object for where a call, a `with`, a `for` and the like are evaluated.
OPERATORS = frozenset(
    {"__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__len__", "__iter__", "__getitem__"}
)
_WHETHER = frozenset({"hasattr", "getattr"})


def receivers(node: ast.AST, name: str) -> list[ast.expr]:
    """Return what is asked for a member by a node."""
    if operands := _operands(node, name):
        return operands
    if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load):
        return [node.value]
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute) and node.target.attr == name:
        return [node.target.value]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "getattr" and len(node.args) == 2:  # noqa: PLR2004  # without a default
        return node.args[:1] if getattr(node.args[1], "value", None) == name else []
    return []


def is_operator(node: ast.AST, name: str) -> bool:
    """Return whether a node asks for a member by what Python makes of it: an object's, not its class's."""
    return bool(_operands(node, name))


def _operands(node: ast.AST, name: str) -> list[ast.expr]:
    """Return what Python asks for ``__call__`` and the like where a node is evaluated."""
    if isinstance(node, ast.Call):
        measured = name == "__len__" and getattr(node.func, "id", "") == "len"
        return [node.func] if name == "__call__" else node.args[:1] if measured else []
    if isinstance(node, (ast.With, ast.AsyncWith)):
        wanted = {"__aenter__", "__aexit__"} if isinstance(node, ast.AsyncWith) else {"__enter__", "__exit__"}
        return [one.context_expr for one in node.items] if name in wanted else []
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter] if name == "__iter__" else []
    return [node.value] if name == "__getitem__" and isinstance(node, ast.Subscript) else []


def of_class(asked: ast.expr) -> ast.expr:
    """Return the object whose class is asked, for ``type(x)`` and ``x.__class__``."""
    if isinstance(asked, ast.Call) and getattr(asked.func, "id", "") == "type" and len(asked.args) == 1:
        return asked.args[0]
    return asked.value if isinstance(asked, ast.Attribute) and asked.attr == "__class__" else asked


def excused(nodes: Iterable[ast.AST], name: str) -> set[ast.AST]:
    """Return every node that does not run, or counts with a member not being there."""
    parts = (part for node in nodes for part in (*guarded_parts(node), *_behind_guards(node, name)))
    return {inner for part in parts for inner in ast.walk(part)}


def _behind_guards(node: ast.AST, name: str) -> Iterator[ast.AST]:
    """Yield what runs only where a statement before it found the member."""
    own = [node.body] if isinstance(node, (*FUNCTIONS, ast.Module, ast.ClassDef)) else []
    for body in (*own, *(block for _, block in (blocks(node) if isinstance(node, ast.stmt) else ()))):
        for number, one in enumerate(body, start=1):
            if isinstance(one, (ast.Assert, ast.If)) and _asks_whether(one.test, name):
                leaves = isinstance(one, ast.Assert) or isinstance(one.body[-1], _LEAVING)
                yield from body[number:] if leaves else ()


def _asks_whether(test: ast.expr, name: str) -> bool:
    """Return whether a test asks something whether it has a member."""
    calls = (one for one in ast.walk(test) if isinstance(one, ast.Call) and getattr(one.func, "id", "") in _WHETHER)
    return any(getattr(argument, "value", None) == name for call in calls for argument in call.args[1:2])


def is_local(name: str, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a function around binds a name, by a parameter or otherwise than by an import."""
    every = (node for one in outer if isinstance(one, FUNCTIONS) for node in ast.walk(one))
    return any((isinstance(node, ast.arg) and node.arg == name) or _is_bound(node, name) for node in every)


def is_self(asked: ast.Name, outer: Iterable[ast.stmt]) -> bool:
    """Return whether a name is the object or class of the method around it, and nothing else by any chance."""
    functions = [one for one in outer if isinstance(one, FUNCTIONS)]
    return (
        bool(functions)
        and asked.id == first_parameter(functions[0])
        and not _is_narrowed(asked.id, functions[0])
        and not any(_is_bound(one, asked.id) for one in ast.walk(functions[0]))
        and not any(asked.id in _parameters(one) for one in functions[1:])
    )


def _parameters(function: FunctionNode) -> list[str]:
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def made_by(name: str, outer: tuple[ast.stmt, ...]) -> ast.expr | None:
    """Return the class of a local variable: a parameter's annotation, or what it is made by, where only once bound."""
    function = outer[-1] if outer and isinstance(outer[-1], FUNCTIONS) else None
    if function is None:
        return None
    if _is_narrowed(name, function):
        return None
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    given = [_annotation(one.annotation) for one in every if one.arg == name]
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and any(getattr(one, "id", "") == name for one in node.targets):
            given.append(node.value.func if isinstance(node.value, ast.Call) else None)
        elif _is_bound(node, name) and not _is_target(node, function):
            given.append(None)
    return given[0] if len(given) == 1 else None


def _is_narrowed(name: str, function: FunctionNode) -> bool:
    """Return whether a function asks of which class a variable is, so that it may be of another than is said."""
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call) and one.args)
    return any(getattr(one.func, "id", "") == "isinstance" and ast.unparse(one.args[0]) == name for one in calls)


def _is_bound(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _is_target(name: ast.AST, function: ast.AST) -> bool:
    assignments = (node for node in ast.walk(function) if isinstance(node, ast.Assign))
    return any(name in node.targets for node in assignments)


def _annotation(node: ast.expr | None) -> ast.expr | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _annotation(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return None
    if isinstance(node, ast.BinOp):  # of `C | None` the class
        return next((one for one in (node.left, node.right) if not isinstance(one, ast.Constant)), None)
    optional = isinstance(node, ast.Subscript) and ast.unparse(node.value).rpartition(".")[2] == "Optional"
    return node.slice if optional and isinstance(node, ast.Subscript) else node
