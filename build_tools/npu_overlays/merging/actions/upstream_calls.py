"""Upstream calls: what a wrapper does with ``upstream`` that cannot be what its author meant.

Each check yields (what is wrong, what to do); what is wrong is the rest of a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from npu_overlays.merging.actions.upstream_arguments import misfits
from npu_overlays.merging.actions.wrappers import Wrapper
from npu_overlays.model.functions import FunctionKind, a_kind, function_kind, own_nodes

Misuse = tuple[str, str]
_HOW: dict[FunctionKind, str] = {
    "plain function": "return {0}(…)",
    "generator": "yield from {0}(…)",
    "coroutine": "return await {0}(…)",
    "async generator": "async with contextlib.aclosing({0}(…)) as values: …",
}


def misuses(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield every misuse of ``upstream``."""
    yield from _lost_references(wrapper)
    yield from _kinds(wrapper)
    yield from misfits(wrapper)


def _lost_references(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield uses of ``upstream`` that cannot be pointed at the original."""
    name, used = wrapper.name, wrapper.references()
    if any(name in _bound(node) for node in ast.walk(wrapper.node)):
        yield f"binds `{name}` itself", "use another name for the wrapper's own"
    if not used:
        yield f"never calls {name}(…)", "call it, or use @replaced"
    # Before Python 3.12 the positions of what stands inside an f-string are wrong.
    if _inside(used, wrapper.node, ast.JoinedStr):
        yield f"calls {name}(…) inside an f-string", "assign its result to a variable first"
    if wrapper.owner and _inside(used, wrapper.node, ast.ClassDef):
        yield f"calls {name}(…) inside a class of its own", "assign it to a variable first"


def _inside(names: list[ast.Name], tree: ast.AST, kind: type[ast.AST]) -> bool:
    inner = {node for outer in ast.walk(tree) if isinstance(outer, kind) for node in ast.walk(outer)}
    return not inner.isdisjoint(names)


def _bound(node: ast.AST) -> tuple[str | None, ...]:
    """Return the names a node binds, other than by being the function looked at."""
    if isinstance(node, ast.Name):
        return () if isinstance(node.ctx, ast.Load) else (node.id,)
    if isinstance(node, ast.arg):
        return (node.arg,)
    if isinstance(node, (ast.Global, ast.Nonlocal)):
        return tuple(node.names)
    if isinstance(node, ast.alias):
        return (node.asname or node.name.partition(".")[0],)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
        return (node.name,)
    return ()


def _kinds(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield where the wrapper is of another kind, or leaves alone the generator or coroutine it is given."""
    theirs, own = function_kind(wrapper.original), function_kind(wrapper.node)
    way = f"match it: {_how(wrapper, theirs)}"
    if own != theirs:
        yield f"is {a_kind(own)}, upstream's is {a_kind(theirs)}", way
        return
    if theirs == "plain function":
        return
    yield from _hidden_exits(wrapper)
    yield from _lost_values(wrapper)
    own_body = {*own_nodes(wrapper.node)}
    for call, outer in wrapper.calls():
        if isinstance(outer, (ast.Expr, ast.Return)) and outer in own_body:
            yield f"calls {wrapper.name}(…) and leaves the {theirs} it gives alone", way
        elif isinstance(outer, ast.withitem) and "generator" in theirs:
            yield from _entering_mistake(wrapper, call, theirs)
        elif isinstance(outer, ast.Await) and "generator" in theirs:
            yield f"awaits {wrapper.name}(…), which gives an async generator", way
    waits = (ast.Await, ast.AsyncFor, ast.AsyncWith)
    comprehensions = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    waiting = any(
        isinstance(node, waits)
        or (isinstance(node, comprehensions) and any(generator.is_async for generator in node.generators))
        for node in own_nodes(wrapper.node)
    )
    if theirs == "coroutine" and not waiting and any(wrapper.calls()):
        yield f"never awaits what {wrapper.name}(…) gives", way


def _how(wrapper: Wrapper, kind: FunctionKind) -> str:
    """Return how a wrapper hands on what the original of that kind gives."""
    if kind == "async generator" and wrapper.entered:
        return f"{_manager(wrapper, kind)}(…) as value: yield value"
    return _HOW[kind].format(wrapper.name)


def _manager(wrapper: Wrapper, kind: FunctionKind) -> str:
    """Return how a wrapper enters the original as upstream's callers do, but for the arguments."""
    statement, decorator = ("with", "contextmanager") if kind == "generator" else ("async with", "asynccontextmanager")
    return f"{statement} contextlib.{decorator}({wrapper.name})"


def _entering_mistake(wrapper: Wrapper, call: ast.Call, kind: FunctionKind) -> Iterator[Misuse]:
    what = f"enters {wrapper.name}(…), which gives {a_kind(kind)}: upstream's decorators are on the wrapper"
    yield what, f"write `{_manager(wrapper, kind)}({', '.join(map(ast.unparse, call.args))}) as …`"


def _lost_values(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield where the original of a generator is iterated although it takes what is sent to it, by ``x = yield``."""
    nodes = list(own_nodes(wrapper.original))
    alone = [node.value for node in nodes if isinstance(node, ast.Expr)]
    if wrapper.entered or not any(isinstance(node, ast.Yield) and node not in alone for node in nodes):
        return
    is_async = function_kind(wrapper.original) == "async generator"
    fix = "send it on: `given = await original.asend(sent)`" if is_async else f"yield from {wrapper.name}(…)"
    calls = {call for call, _ in wrapper.calls()}
    loops = [one for one in ast.walk(wrapper.node) if isinstance(one, (ast.For, ast.AsyncFor, ast.comprehension))]
    closing = {name for one in ast.walk(wrapper.node) for name in _closed(one, calls)}
    for loop in loops:
        if loop.iter in calls or (isinstance(loop.iter, ast.Name) and loop.iter.id in closing):
            yield f"iterates {wrapper.name}(…), which takes what is sent to it: nothing would reach it", fix


def _closed(node: ast.AST, calls: Set[ast.Call]) -> Iterator[str]:
    """Yield the name that ``with closing(upstream(…)) as name`` gives what one of some calls gives."""
    if isinstance(node, ast.withitem) and isinstance(node.context_expr, ast.Call):
        given = node.optional_vars
        if isinstance(given, ast.Name) and not calls.isdisjoint(node.context_expr.args):
            yield given.id


def _hidden_exits(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield where the original of a context manager is iterated: what its ``with`` block raises would pass it by."""
    if not wrapper.entered:
        return
    kind = function_kind(wrapper.original)
    for call, outer in wrapper.calls():
        if isinstance(outer, (ast.For, ast.AsyncFor, ast.comprehension)) or (
            isinstance(outer, ast.Call) and outer.func is not call
        ):
            what = f"iterates {wrapper.name}(…), which then never sees what is raised inside upstream's `with` block"
            given = ", ".join(map(ast.unparse, [*call.args, *call.keywords]))
            yield what, f"write `{_manager(wrapper, kind)}({given}) as value: yield value`"
