"""Caller frames: function → how many of its callers' frames it reads, itself or by functions that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import inf

from npu_overlays.model import Symbol
from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.functions import first_parameter, own_nodes
from npu_overlays.model.signatures import parameters
from npu_overlays.model.syntax import all_of, call_arguments, children, is_name, last_name, targets

# What gives one frame, the function's own or one that an argument counts up to, and what gives those of all callers.
_FRAME = frozenset({"_getframe", "_getframemodulename", "currentframe"})
_FRAMES = frozenset({"extract_stack", "findCaller", "getouterframes", "inspect.stack", "walk_stack"})
_GIVING_FRAMES = [word.encode() for word in sorted(_FRAME | _FRAMES)]
# So many calls are followed, one from the next: a number can grow with each.
_FARTHEST = 5


@dataclass(frozen=True, kw_only=True)
class _Visit:
    """A function on the way from the one that is asked about to what reads frames."""

    path: str
    function: Definition
    calls_between: int = 0
    steps: float = 0  # how many `f_back` the functions on the way add at most to a frame that they are given
    values: Mapping[str, int] = field(default_factory=dict)  # of its parameters, as far as the calls show them


def callers_seen(classes: ClassGraph, path: str, function: Definition) -> float:
    """Return how many callers up a function reads frames, itself or by functions that it calls.

    Functions of other modules are followed if their module reads frames, and count if the text shows how many.

    Returns:
        0 if it reads no caller's frame, infinity if the text does not show how many.
    """
    seen: float = 0
    pending = [_Visit(path=path, function=function)]
    if isinstance(function.node, FUNCTIONS):  # its own parameters may say how many: with any value, or by default
        defaults = _values(ast.Call(ast.Name(function.leaf), [], []), function.node, "", {})
        pending.append(_Visit(path=path, function=function, values=defaults))
    known: set[tuple[ast.stmt, float, frozenset[tuple[str, int]]]] = set()
    for visit in pending:
        node = visit.function.node
        key = (node, visit.steps, frozenset(visit.values.items()))
        if key in known or not isinstance(node, FUNCTIONS):
            continue
        known.add(key)
        nodes = list(own_nodes(node))
        calls = [inner for inner in nodes if isinstance(inner, ast.Call)]
        steps = visit.steps + _steps(nodes)
        read = _seen_by_itself(calls, visit.values, steps) - visit.calls_between
        if read < inf or visit.path == path:
            seen = max(seen, read)
        if visit.calls_between < _FARTHEST:
            for call in calls:
                pending += _called(classes, replace(visit, steps=steps), call)
    return seen


def _seen_by_itself(calls: Iterable[ast.Call], values: Mapping[str, int], steps: float) -> float:
    """Return how many callers up a function reads by its own calls and by as many `f_back` of their results."""
    seen: float = 0
    for call in calls:
        if not _FRAMES.isdisjoint({last_name(call.func), ast.unparse(call.func)}):
            return inf
        if last_name(call.func) in _FRAME:
            depth = next(iter(call_arguments(call)), ast.Constant(0))
            seen = max(seen, _number(depth, values) + steps)
    return seen


def _steps(nodes: Sequence[ast.AST]) -> float:
    """Return how many frames up the nodes of a function go at most by ``f_back``; infinity in a loop."""
    read = [node for node in nodes if isinstance(node, ast.Attribute) and node.attr == "f_back"]
    loops = [node for node in nodes if read and isinstance(node, (ast.For, ast.While))]
    if any(one.attr == "f_back" for loop in loops for one in all_of(loop, ast.Attribute)):
        return inf
    assigned = [node for node in nodes if read and isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr))]
    seen, steps = 0, dict[str, int]()  # those that lead to what a name or an attribute holds
    for node in sorted([*read, *assigned], key=_end):  # a value's attributes, then its assignment
        if isinstance(node, ast.Attribute):
            seen = max(seen, _steps_of(node, steps))
            continue
        given = [node.target] if isinstance(node, ast.NamedExpr) else targets(node)
        for target in given:
            for part in all_of(target, (ast.Name, ast.Attribute)):
                held = ast.unparse(part)
                steps[held] = max(_steps_of(node.value, steps), steps.get(held, 0))
    return seen


def _end(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0


def _steps_of(node: ast.AST | None, known: Mapping[str, int]) -> int:
    """Return how many ``f_back`` lead to an expression at most, given those that lead to names and attributes."""
    if node is None:
        return 0
    inner = max((_steps_of(one, known) for one in children(node)), default=0)
    if isinstance(node, ast.Attribute):
        return inner + 1 if node.attr == "f_back" else max(inner, known.get(ast.unparse(node), 0))
    return known.get(node.id, 0) if isinstance(node, ast.Name) else inner


def _number(node: ast.expr | None, values: Mapping[str, int]) -> float:
    """Return the value of a constant, or of a parameter with a known one; infinity for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    return values.get(node.id, inf) if isinstance(node, ast.Name) else inf


def _called(classes: ClassGraph, visit: _Visit, call: ast.Call) -> Iterator[_Visit]:
    """Yield the functions that a call may run, of modules that read frames."""
    member = _member(classes, visit, call.func)
    symbols = [member] if member else classes.resolver.resolve(visit.path, call.func)
    for symbol in symbols:
        module = classes.module(symbol.path) if isinstance(symbol, Symbol) else None
        if not isinstance(symbol, Symbol) or module is None or not _gives_frames(module.content):
            continue
        for callee in module.definitions.get(symbol.name, []):
            if isinstance(callee.node, FUNCTIONS):
                bound = first_parameter(callee.node) if member else ""
                values = _values(call, callee.node, bound, visit.values)
                between = visit.calls_between + 1
                yield _Visit(path=symbol.path, function=callee, calls_between=between, steps=visit.steps, values=values)


@lru_cache(maxsize=256)
def _gives_frames(content: bytes) -> bool:
    """Return whether a module's text names what gives a frame."""
    return any(word in content for word in _GIVING_FRAMES)


def _member(classes: ClassGraph, visit: _Visit, function: ast.expr) -> Symbol | None:
    """Return the method that ``self.name`` or ``super().name`` stands for in a method; None for anything else."""
    node, parent = visit.function.node, visit.function.parent
    if not isinstance(function, ast.Attribute) or not isinstance(node, FUNCTIONS) or not parent:
        return None
    line = classes.line(Symbol(visit.path, parent))
    if isinstance(function.value, ast.Call) and is_name(function.value.func, "super"):
        line = line[1:]
    elif not is_name(function.value, first_parameter(node)):
        return None
    owners = (one for one in line if function.attr in classes.members(one))
    owner = next(owners, None)
    return Symbol(owner.path, f"{owner.name}.{function.attr}") if owner else None


def _values(call: ast.Call, function: FunctionNode, bound: str, known: Mapping[str, int]) -> dict[str, int]:
    """Return the whole numbers that a function's parameters have in a call, where it shows them and none is assigned.

    Args:
        call: the call.
        function: that is called.
        bound: the parameter that the call does not give, ``self`` or ``cls``; may be empty.
        known: those of the parameters around the call.
    """
    listed = [one for one in parameters(function.args) if one.name != bound]
    given = {one.name: one.default for one in listed}
    given |= dict(zip([one.name for one in listed if one.is_positional], call.args, strict=False))
    for keyword in call.keywords:
        given[keyword.arg or ""] = keyword.value
    if "" in given or any(isinstance(one, ast.Starred) for one in call.args):
        return {}
    for node in own_nodes(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            given.pop(node.id, None)
    numbers = {name: _number(value, known) for name, value in given.items()}
    return {name: int(number) for name, number in numbers.items() if number < inf}
