"""The properties: one upstream module in, how many functions they were checked on out; a broken one fails."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from npu_overlays.changes.modules import compare_modules
from npu_overlays.merging.actions.wrapping import private_name
from npu_overlays.merging.merge import merge
from npu_overlays.merging.upstream.classes import called_early, calling_decorator, closed_kind
from npu_overlays.merging.upstream.signatures import parameters, written
from npu_overlays.overlay.operations import Operation, Reason, TargetKind
from npu_overlays.syntax.definitions import FUNCTIONS, Definition, FunctionNode
from npu_overlays.syntax.functions import function_kind
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import reindent

_UNCONDITIONAL = {"With.body", "Try.finalbody"}
_PASS_THROUGH = {
    "plain function": "return {}",
    "generator": "return (yield from {})",
    "coroutine": "return await {}",
    "async generator": "async for value in {}: yield value",
}


def functions(module: Module) -> list[Definition]:
    """Return the functions of a module and its classes that are there once, without a condition, and can be wrapped."""
    found = [known[-1] for known in module.definitions.values() if known[-1].kind == "function"]
    return [one for one in found if is_there(module, one) and private_name(one.name) not in module.definitions]


def is_there(module: Module, definition: Definition) -> bool:
    """Return whether a definition and the classes around it are each there once and without a condition."""
    known = module.definitions[definition.name]
    alone = len(known) == 1 and set(definition.branch) <= _UNCONDITIONAL
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
    operations = [_replacement(path, before, definition) for definition in functions(before)]
    after = Module(path, merge(path, content, operations, distribution="pkg-npu", purpose="NPU")[0])
    assert after.content.count(b"pkg-npu (replaced): w") == len(operations), path
    assert same(after.tree, before.tree), path
    assert compare_modules(before, after) == ((), ()), path
    return len(operations)


def wrapped(path: str, content: bytes) -> int:
    """Wrapping every function leaves upstream's text of it there once, and every other byte as it was.

    The wrapper, which hands on what it is called with, has upstream's decorators, signature, docstring and kind.
    """
    before = Module(path, content)
    operations = list(_wrappers(path, before))
    result, _ = merge(path, content, operations, distribution="pkg-npu", purpose="NPU")
    after = Module(path, result)
    pieces = []
    for operation in operations:
        private = private_name(operation.symbol)
        (original,), (wrapper,) = (after.definitions[name] for name in (private, operation.symbol))
        (upstream,) = before.definitions[operation.symbol]
        own, leaf = operation.symbol.rpartition(".")[2], private.rpartition(".")[2]
        assert after.text(original.node).replace(leaf, own, 1) == before.text(upstream.node), f"{path}: {own}"
        assert same(_decorators(wrapper), _decorators(upstream))
        assert _decorators(original) == []
        _is_transparent(wrapper.node, upstream.node)
        start, end = after.line_end(wrapper.node.lineno - 2), after.offset(original.node.lineno)
        pieces += [(start, end, b""), (*after.name_span(_function(original.node)), own.encode())]
    rest = after.content
    for start, end, text in sorted(pieces, reverse=True):
        rest = rest[:start] + text + rest[end:]
    assert after.bom + rest == content, path
    return len(operations)


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
    for definition in functions(module):
        closed = definition.parent and closed_kind(module, definition.parent)
        if not closed and not called_early(module, definition) and not calling_decorator(module, definition):
            yield _operation(path, definition, pass_through(_function(definition.node)), "wrapped")


def pass_through(node: FunctionNode) -> str:
    """Return a wrapper that hands on what it is called with and leaves out all that it can."""
    given = []
    for one in parameters(node.args):
        stars = one.kind if one.kind in ("*", "**") else ""
        given.append(f"{one.name}={one.name}" if one.kind == "kw" else f"{stars}{one.name}")
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    managers = [one for one in map(ast.unparse, node.decorator_list) if one.endswith("contextmanager")]
    if managers:  # what is raised in the `with` block is to reach the original
        enter = "async with" if isinstance(node, ast.AsyncFunctionDef) else "with"
        body = f"{enter} {managers[0]}(upstream)({', '.join(given)}) as value:\n        yield value"
    else:
        body = _PASS_THROUGH[function_kind(node)].format(f"upstream({', '.join(given)})")
    return f"{word} f{written(node.args, lambda _: '...')}:\n    {body}\n"


def _replacement(path: str, module: Module, definition: Definition) -> Operation:
    node = definition.node
    text = module.lines(definition.first_line, node.end_lineno or node.lineno)
    return _operation(path, definition, reindent(text, old=module.indentation(node), new=""), "replaced")


def _operation(path: str, definition: Definition, text: str, action: str) -> Operation:
    kind: TargetKind = "function"
    return Operation(
        action="wrapped" if action == "wrapped" else "replaced",
        path=path,
        symbol=definition.name,
        kind=kind,
        text=text,
        reason=Reason(why="w"),
        layer="o",
        where=definition.name,
    )


def _decorators(definition: Definition) -> list[ast.expr]:
    decorators: list[ast.expr] = getattr(definition.node, "decorator_list", [])
    return decorators
