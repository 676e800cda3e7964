"""Example: upstream's modules → a first operation on one of its functions, tried before it is shown."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from npu_overlays.errors import OverlayError
from npu_overlays.merge.module_merge import merge
from npu_overlays.overlay.merge_modules import read_operations

_PRIVATE = re.compile(r"(^|/)(_(?!_init__)|tests?(/|_|\.)|test_|conftest|vendor)")
_TRIED = 200


@dataclass(frozen=True, kw_only=True)
class ExampleOperation:
    """A merge module that changes nothing yet: its repository path, the function it wraps, and its text."""

    path: str
    symbol: str
    text: str


def find_example(modules: Iterable[tuple[str, bytes]]) -> ExampleOperation | None:
    """Return a wrapper of a public function that can be applied as it stands, or None where no function can be.

    It is of the first module that serves; modules are pairs of repository path and bytes.
    """
    number = 0
    for path, content in modules:
        if _PRIVATE.search(path):
            continue
        for example in _wrappers(path, content):
            if number == _TRIED:
                return None
            number += 1
            if _applies(example, content):
                return example
    return None


def _wrappers(path: str, content: bytes) -> Iterator[ExampleOperation]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and not node.decorator_list:
            yield ExampleOperation(path=path, symbol=node.name, text=_wrapper(node))


def _wrapper(node: ast.FunctionDef) -> str:
    """Return a merge module that wraps a function, without its annotations, and calls it."""
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    call = f"upstream({', '.join(_passed(node.args))})"
    return (
        "from npu_overlays.markers import upstream, wrapped\n\n\n"
        '@wrapped(why="Say here, in one sentence for a user of the wheel, what is different and why.")\n'
        f"def {node.name}({ast.unparse(node.args)}):\n    return {call}\n"
    )


def _passed(arguments: ast.arguments) -> Iterator[str]:
    """Yield the arguments of a call that passes all parameters on."""
    for one in (*arguments.posonlyargs, *arguments.args):
        yield one.arg
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    for one in arguments.kwonlyargs:
        yield f"{one.arg}={one.arg}"
    if arguments.kwarg:
        yield f"**{arguments.kwarg.arg}"


def _applies(example: ExampleOperation, content: bytes) -> bool:
    try:
        operations = read_operations(example.path, example.text.encode(), layer="example", target=example.path)
        merge(example.path, content, operations, distribution="example")
    except OverlayError:
        return False
    return True
