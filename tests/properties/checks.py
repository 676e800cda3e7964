"""The properties: one upstream module in, how many functions they were checked on out; a broken one fails."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from npu_overlays.changes.module_comparison import compare_modules
from npu_overlays.merge.actions.wraps import private_name, without_docstring
from npu_overlays.merge.module_merge import merge
from npu_overlays.merge.targets import overwritten
from npu_overlays.merge.upstream.caller_frames import callers_seen
from npu_overlays.merge.upstream.early_calls import calling_decorator
from npu_overlays.model import Symbol, classes_of
from npu_overlays.model.code_blocks import reindent
from npu_overlays.model.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.model.encodings import as_declared
from npu_overlays.model.functions import function_kind, own_nodes
from npu_overlays.model.module import Module
from npu_overlays.model.selectors import chosen
from npu_overlays.model.signatures import parameters, signature_text
from npu_overlays.model.splices import Splice, splice
from npu_overlays.overlay.operations import Operation, Reason, TargetKind

_UNCONDITIONAL = {"With.body", "Try.finalbody"}
_PASS_THROUGH = {
    "plain function": "return {}",
    "generator": "return (yield from {})",
    "coroutine": "return await {}",
    "async generator": """from contextlib import aclosing
    async with aclosing({}) as stream:
        async for value in stream: yield value""",
}
# The same for one that takes what is sent to it.
_SENDING = """from contextlib import aclosing
    original, sent = {}, None
    async with aclosing(original):
        try:
            while True:
                sent = yield await original.asend(sent)
        except StopAsyncIteration:
            return"""


def functions(module: Module) -> list[tuple[str, Definition]]:
    """Return the functions of a module and its classes that are of use and can be wrapped, each by its symbol.

    One that is not there once and without a condition has its number behind its name.
    """
    found: list[tuple[str, Definition]] = []
    for known in module.definitions.values():
        for number, one in enumerate(known, 1):
            is_kept = private_name(classes_of(module), module, one) in module.definitions
            if one.kind != "function" or is_kept or any(overwritten(module, x) for x in one.around):
                continue
            found.append((one.name if is_there(module, one) else f"{one.name}[#{number}]", one))
    return found


def _closed_kind(module: Module, member: Definition) -> str:
    """Return by which kind closed to additions the class around a member is made."""
    return classes_of(module).closed_kind(Symbol(module.path, member.parent)) if member.parent else ""


def is_there(module: Module, definition: Definition) -> bool:
    """Return whether a definition and the classes around it are each there once and without a condition."""
    known = module.definitions[definition.name]
    alone = len(known) == 1 and set(definition.branch) <= _UNCONDITIONAL and not module.other_bindings(definition.name)
    return alone and (not definition.parent or is_there(module, module.definitions[definition.parent][-1]))


def same(one: object, other: object) -> bool:
    """Return whether two syntax trees are equal but for positions; many times quicker than comparing dumps."""
    pairs = [(one, other)]
    while pairs:
        first, second = pairs.pop()
        if type(first) is not type(second):
            return False
        if isinstance(first, list) and isinstance(second, list):
            if len(first) != len(second):
                return False
            pairs.extend(zip(first, second, strict=True))
        elif isinstance(first, ast.AST):
            pairs.extend((getattr(first, name, None), getattr(second, name, None)) for name in first._fields)
        elif first != second:
            return False
    return True


def unchanged(path: str, content: bytes) -> None:
    """Merging nothing changes no byte and declares nothing."""
    assert merge(path, content, [], distribution="pkg-npu", purpose="NPU") == (content, ()), path


def replaced_by_itself(path: str, content: bytes) -> int:
    """Replacing every function by its own text leaves the syntax tree equal, and the comparison empty."""
    before = Module(path, content)
    operations = [_replacement(path, before, *found) for found in functions(before)]
    after = Module(path, merge(path, content, operations, distribution="pkg-npu", purpose="NPU")[0])
    assert after.content.count(b"pkg-npu (replaced): w") == len(operations), path
    assert same(after.tree, before.tree), path
    assert compare_modules(before, after) == ((), ()), path
    return len(operations)


def wrapped(path: str, content: bytes) -> int:
    """Wrapping every function leaves upstream's text of it there once, less its docstring, and every other byte.

    The wrapper, which hands on what it is called with, has upstream's decorators, signature, docstring and kind.
    """
    before = Module(path, content)
    operations = list(_wrappers(path, before))
    result, _ = merge(path, content, operations, distribution="pkg-npu", purpose="NPU")
    after = Module(path, result)
    wrappers, renamed = [], []
    for operation in operations:
        (upstream,), (wrapper,) = (chosen(module, operation.symbol) for module in (before, after))
        (original,) = after.definitions[private_name(classes_of(before), before, upstream)]
        assert same(_decorators(wrapper), _decorators(upstream))
        assert _decorators(original) == []
        _is_transparent(wrapper.node, upstream.node)
        wrappers.append((after.line_end(wrapper.node.lineno - 2), after.offset(original.node.lineno), ""))
        renamed.append((*before.name_span(_function(upstream.node)), _function(original.node).name))
        renamed += without_docstring(before, _function(upstream.node))
    assert _exchanged(after, wrappers) == _exchanged(before, renamed), path
    assert as_declared(before.content, content) == content
    return len(operations)


def _exchanged(module: Module, pieces: Iterable[tuple[int, int, str]]) -> bytes:
    splices = [Splice(start=start, end=end, text=text, where="") for start, end, text in pieces]
    return splice(module.content, splices, newline=module.newline)


def _is_transparent(wrapper: ast.stmt, upstream: ast.stmt) -> None:
    own, theirs = _function(wrapper), _function(upstream)
    assert same(own.args, theirs.args)
    assert same(own.returns, theirs.returns)
    assert ast.get_docstring(own, clean=False) == ast.get_docstring(theirs, clean=False)
    assert function_kind(own) == function_kind(theirs)


def _function(node: ast.stmt) -> FunctionNode:
    assert isinstance(node, FUNCTIONS)
    return node


def _wrappers(path: str, module: Module) -> Iterator[Operation]:
    for symbol, definition in functions(module):
        closed = _closed_kind(module, definition) == "TypedDict"
        if (
            not closed
            and not calling_decorator(module, definition)
            and not callers_seen(classes_of(module), path, definition)
        ):
            yield _operation(path, symbol, pass_through(_function(definition.node)), "wrapped")


def pass_through(node: FunctionNode) -> str:
    """Return a wrapper that hands on what it is called with and leaves out all that it can."""
    given = []
    for one in parameters(node.args):
        stars = one.kind if one.kind in ("*", "**") else ""
        given.append(f"{one.name}={one.name}" if one.kind == "kw" else f"{stars}{one.name}")
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    managers = [one for one in map(ast.unparse, node.decorator_list) if one.endswith("contextmanager")]
    if managers and "generator" in function_kind(node):  # what is raised in the `with` block is to reach the original
        enter = "async with" if isinstance(node, ast.AsyncFunctionDef) else "with"
        body = f"{enter} {managers[0]}(upstream)({', '.join(given)}) as value:\n        yield value"
    else:
        kind = function_kind(node)
        text = _SENDING if kind == "async generator" and _takes_values(node) else _PASS_THROUGH[kind]
        body = text.format(f"upstream({', '.join(given)})")
    return f"{word} f{signature_text(node.args, lambda _: '...')}:\n    {body}\n"


def _takes_values(node: FunctionNode) -> bool:
    """Return whether a generator does something with what a `yield` of its gives."""
    nodes = list(own_nodes(node))
    alone = [one.value for one in nodes if isinstance(one, ast.Expr)]
    return any(isinstance(one, ast.Yield) and one not in alone for one in nodes)


def _replacement(path: str, module: Module, symbol: str, definition: Definition) -> Operation:
    node = definition.node
    text = module.lines(definition.first_line, node.end_lineno or node.lineno)
    return _operation(path, symbol, reindent(text, old=module.indentation(node), new=""), "replaced")


def _operation(path: str, symbol: str, text: str, action: str) -> Operation:
    kind: TargetKind = "function"
    return Operation(
        action="wrapped" if action == "wrapped" else "replaced",
        path=path,
        symbol=symbol,
        kind=kind,
        text=text,
        reason=Reason(why="w"),
        layer="o",
        where=symbol,
    )


def _decorators(definition: Definition) -> list[ast.expr]:
    decorators: list[ast.expr] = getattr(definition.node, "decorator_list", [])
    return decorators
