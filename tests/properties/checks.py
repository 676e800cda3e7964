"""The properties: one upstream module in, how many functions they were checked on out; a broken one fails."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from npu_overlays.changes.modules import compare_modules
from npu_overlays.merging.merge import merge
from npu_overlays.merging.wrapping import PRIVATE_PREFIX, private_name
from npu_overlays.overlay.operations import Operation, Reason, TargetKind
from npu_overlays.syntax.definitions import Definition
from npu_overlays.syntax.symbols import Module
from npu_overlays.syntax.texts import reindent

_NOTICE = rb"[ \t\f]*# Changed for NPU by pkg-npu \((?:wrapped|replaced)\): w\r?\n"
_WRAPPER = re.compile(
    _NOTICE + rb"[ \t\f]*(?:async )?def [^\s(]+\(\*args, \*\*kwargs\):\r?\n"
    rb"[ \t\f]+return (?:await )?(?:__class__\.)?_upstream_[^\s(]+\(\*args, \*\*kwargs\)\r?\n(?:\r?\n){1,2}"
)
_ORIGINAL = re.compile(rb"(def(?:[ \t\f]|\\\r?\n)+)" + PRIVATE_PREFIX.encode())


def functions(module: Module) -> list[Definition]:
    """Return the functions of a module and its classes that are defined once and can be wrapped."""
    once = [known[0] for known in module.definitions.values() if len(known) == 1]
    names = {definition.name for definition in once if definition.kind == "function"}
    return [one for one in once if one.name in names and private_name(one.name) not in module.definitions]


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
    assert merge(path, content, [], distribution="pkg-npu") == (content, ()), path


def replaced_by_itself(path: str, content: bytes) -> int:
    """Replacing every function by its own text leaves the syntax tree equal, and the comparison empty."""
    before = Module(path, content)
    operations = [_replacement(path, before, definition) for definition in functions(before)]
    after = Module(path, merge(path, content, operations, distribution="pkg-npu")[0])
    assert after.content.count(b"pkg-npu (replaced): w") == len(operations), path
    assert same(after.tree, before.tree), path
    assert compare_modules(before, after) == ((), ()), path
    return len(operations)


def wrapped(path: str, content: bytes) -> int:
    """Wrapping every function leaves upstream's text of it there once, and every other byte as it was."""
    before = Module(path, content)
    operations = list(_wrappers(path, before))
    result, _ = merge(path, content, operations, distribution="pkg-npu")
    after = Module(path, result)
    for operation in operations:
        (original,), (wrapper,) = (
            after.definitions[name] for name in (private_name(operation.symbol), operation.symbol)
        )
        (upstream,) = before.definitions[operation.symbol]
        text = after.text(original.node)
        assert text.replace(PRIVATE_PREFIX, "", 1) == before.text(upstream.node), f"{path}: {operation.symbol}"
        assert same(_decorators(wrapper), _decorators(upstream))
        assert _decorators(original) == []
    rest, wrappers = _WRAPPER.subn(b"", result)
    rest, originals = _ORIGINAL.subn(rb"\1", rest)
    assert rest == content, path
    assert wrappers == originals == len(operations), path
    return len(operations)


def _wrappers(path: str, module: Module) -> Iterator[Operation]:
    closed = {
        name
        for name, known in module.definitions.items()
        for definition in known
        for base in getattr(definition.node, "bases", [])
        if ast.unparse(base).partition("[")[0].rpartition(".")[2] in ("NamedTuple", "Protocol")
    }
    for definition in functions(module):
        if definition.parent not in closed:
            is_async = isinstance(definition.node, ast.AsyncFunctionDef)
            word, wait = ("async def", "await ") if is_async else ("def", "")
            text = f"{word} f(*args, **kwargs):\n    return {wait}upstream(*args, **kwargs)\n"
            yield _operation(path, definition, text, "wrapped")


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
        overlay="o",
        where=definition.name,
    )


def _decorators(definition: Definition) -> list[ast.expr]:
    decorators: list[ast.expr] = getattr(definition.node, "decorator_list", [])
    return decorators
