"""Upstream calls: a wrapper's uses of ``upstream`` → those that its author cannot have meant.

Each check yields (what is wrong, what to do); what is wrong is the rest of a sentence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.functions import FunctionKind, a_kind, function_kind, own_nodes
from npu_overlays.model.module import Module
from npu_overlays.model.signatures import Parameter, call_mismatch, parameters, private_mismatch, signature_text
from npu_overlays.model.syntax import all_of, decorator_names, is_name

Misuse = tuple[str, str]
_LOOPS = (ast.For, ast.AsyncFor, ast.comprehension)
_HOW: dict[FunctionKind, str] = {
    "plain function": "return {0}(…)",
    "generator": "yield from {0}(…)",
    "coroutine": "return await {0}(…)",
    "async generator": "async with contextlib.aclosing({0}(…)) as values: …",
}


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """A wrapper beside what it wraps."""

    name: str  # by which it refers to the original
    module: Module  # the wrapper's text
    node: FunctionNode  # the wrapper
    original: FunctionNode  # what it wraps
    owner: str  # qualified name of the class around both, empty at module level
    entered: str  # what of ``contextlib`` makes a context manager of both, if anything; see `entered`
    in_loop: bool  # whether a loop defines it several times, and only the last original keeps its name

    def references(self) -> list[ast.Name]:
        """Return every mention of the original."""
        return [one for one in all_of(self.node, ast.Name) if one.id == self.name]

    def calls(self) -> Iterator[tuple[ast.Call, ast.AST]]:
        """Yield every direct call of the original, with its parents."""
        for outer in ast.walk(self.node):
            for inner in ast.iter_child_nodes(outer):
                if isinstance(inner, ast.Call) and is_name(inner.func, self.name):
                    yield inner, outer


def entered(classes: ClassGraph, path: str, function: FunctionNode) -> str:
    """Return which decorator of ``contextlib`` makes a function's context manager, or an empty text."""
    leaves: set[str] = set()
    for decorator in function.decorator_list:
        leaves |= {name.rpartition(".")[2] for name in classes.names(path, decorator)}
    return min(leaves & {"contextmanager", "asynccontextmanager"}, default="")


def misuses(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield every misuse of ``upstream``."""
    yield from _lost_references(wrapper)
    yield from _kinds(wrapper)
    yield from _misfits(wrapper)


def _lost_references(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield uses of ``upstream`` that cannot refer to the original."""
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
    return any(not set(names).isdisjoint(ast.walk(outer)) for outer in all_of(tree, kind))


def _bound(node: ast.AST) -> tuple[str | None, ...]:
    """Return the names that a node binds, the wrapper itself excepted."""
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
    """Yield how the wrapper's kind differs, or that it drops the original's generator or coroutine."""
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
            what = f"enters {wrapper.name}(…), which gives {a_kind(theirs)}: upstream's decorators are on the wrapper"
            yield what, f"write `{_manager(wrapper, theirs)}({', '.join(map(ast.unparse, call.args))}) as …`"
        elif isinstance(outer, ast.Await) and "generator" in theirs:
            yield f"awaits {wrapper.name}(…), which gives an async generator", way
    if theirs == "coroutine" and any(wrapper.calls()) and not any(map(_waits, own_nodes(wrapper.node))):
        yield f"never awaits what {wrapper.name}(…) gives", way


def _waits(node: ast.AST) -> bool:
    """Return whether a coroutine may suspend at a node."""
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return any(generator.is_async for generator in node.generators)
    return isinstance(node, (ast.Await, ast.AsyncFor, ast.AsyncWith))


def _how(wrapper: Wrapper, kind: FunctionKind) -> str:
    """Return how a wrapper passes on the result of an original of that kind."""
    if kind == "async generator" and wrapper.entered:
        return f"{_manager(wrapper, kind)}(…) as value: yield value"
    return _HOW[kind].format(wrapper.name)


def _manager(wrapper: Wrapper, kind: FunctionKind) -> str:
    """Return how a wrapper enters the original as upstream's callers do, but for the arguments."""
    statement, decorator = ("with", "contextmanager") if kind == "generator" else ("async with", "asynccontextmanager")
    return f"{statement} contextlib.{decorator}({wrapper.name})"


def _lost_values(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield loops over an original that uses values sent to it, by ``x = yield``."""
    nodes = list(own_nodes(wrapper.original))
    alone = [node.value for node in nodes if isinstance(node, ast.Expr)]
    takes = any(isinstance(node, ast.Yield) and node not in alone for node in nodes)
    if wrapper.entered or not takes:
        return
    is_async = function_kind(wrapper.original) == "async generator"
    sending = f"send it on: `given = await generator.asend(sent)`, with `generator = {wrapper.name}(…)`"
    fix = sending if is_async else f"yield from {wrapper.name}(…)"
    calls = {call for call, _ in wrapper.calls()}
    closing: set[str] = set()  # the names that ``with closing(upstream(…)) as name`` gives them
    for item in all_of(wrapper.node, ast.withitem):
        given = item.optional_vars
        if isinstance(item.context_expr, ast.Call) and isinstance(given, ast.Name):
            closing |= set() if calls.isdisjoint(item.context_expr.args) else {given.id}
    for node in ast.walk(wrapper.node):
        if isinstance(node, _LOOPS) and (node.iter in calls or getattr(node.iter, "id", "") in closing):
            yield f"iterates {wrapper.name}(…), which takes what is sent to it: nothing would reach it", fix


def _hidden_exits(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield loops over a context manager's original: errors of its ``with`` block would not reach it."""
    if not wrapper.entered:
        return
    kind = function_kind(wrapper.original)
    for call, outer in wrapper.calls():
        if isinstance(outer, _LOOPS) or (isinstance(outer, ast.Call) and outer.func is not call):
            what = f"iterates {wrapper.name}(…), which then never sees what is raised inside upstream's `with` block"
            given = ", ".join(map(ast.unparse, [*call.args, *call.keywords]))
            yield what, f"write `{_manager(wrapper, kind)}({given}) as value: yield value`"


def _misfits(wrapper: Wrapper) -> Iterator[Misuse]:
    """Yield calls of the original that do not fit its parameters, or omit ``self`` or ``cls``."""
    theirs = parameters(wrapper.original.args)
    for call, _ in wrapper.calls():
        reason = call_mismatch(call, theirs)
        if wrapper.owner:
            reason = reason or private_mismatch(call) or _without_self(wrapper, call, theirs)
        if not reason and wrapper.in_loop and (lost := call_mismatch(call, [*map(_without_varying, theirs)])):
            reason = f"{lost}, whose default each turn of the loop makes anew: the original has the last one"
        if reason:
            shown = f"{wrapper.name}({', '.join(map(ast.unparse, [*call.args, *call.keywords]))})"
            fix = f"upstream's parameters are {signature_text(wrapper.original.args)}"
            yield f"calls {shown}, which {reason}", fix


def _without_varying(parameter: Parameter) -> Parameter:
    """Return a parameter without its default, if that is not a constant."""
    return parameter if isinstance(parameter.default, ast.Constant) else replace(parameter, default=None)


def _without_self(wrapper: Wrapper, call: ast.Call, theirs: list[Parameter]) -> str:
    """Return what is wrong with the first argument of a call in a method, or an empty text."""
    own = [one.name for one in parameters(wrapper.node.args) if one.kind in ("/", "|")]
    first = call.args[0] if call.args else next((one.value for one in call.keywords if one.arg in own[:1]), None)
    if decorator_names(wrapper.original) & {"staticmethod", "abstractstaticmethod"}:
        strangers = {"self", "cls", "__class__", wrapper.owner.rpartition(".")[2]} - {*own}
        given = isinstance(first, ast.Name) and first.id in strangers
        return f"hands on `{ast.unparse(first)}` to a static method" if first and given else ""
    if not theirs or not own:
        return ""
    if isinstance(first, ast.Starred):
        own_rest = wrapper.node.args.vararg
        lost = isinstance(first.value, ast.Name) and own_rest and first.value.id == own_rest.arg
        return f"does not hand on `{own[0]}`" if lost else ""
    handed = isinstance(first, ast.Name) and first.id == own[0]
    doubly = first is None and any(one.arg is None for one in call.keywords)
    return "" if handed or doubly else f"does not hand on `{own[0]}` first"
