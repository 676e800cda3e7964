"""How the cost of merging one operation behaves as there are more of them.

Generated modules → milliseconds per operation. Timed is all that is done
for an operation: reading it, merging it, and finding the change it makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from npu_overlays.changes.tree_comparison import compare_file
from npu_overlays.merge.module_merge import merge
from npu_overlays.overlay.merge_modules import read_operations

_OPERATIONS_PER_MODULE = 10
_FUNCTIONS_PER_OPERATION = 2


def spread(operations: int, version: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield modules of one size, with ten operations each, as pairs of upstream's text and the overlay's."""
    for number in range(operations // _OPERATIONS_PER_MODULE):
        yield _pair(_OPERATIONS_PER_MODULE, f"{version}.{number}")


def packed(operations: int, version: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield one module that holds all operations, and grows with them."""
    yield _pair(operations, f"{version}")


class GeneratedModules:
    """Modules to be merged, with other texts each time: what was parsed once is kept.

    Args:
        generate: yields them, given how many operations there are in all, and a number for this time.
        operations: so many.
    """

    def __init__(self, generate: Callable[[int, int], Iterator[tuple[bytes, bytes]]], operations: int) -> None:
        self._generate = generate
        self._operations = operations
        self._versions = count()
        self._pairs: list[tuple[bytes, bytes]] = []

    def write(self) -> None:
        """Write other texts than those before."""
        self._pairs = list(self._generate(self._operations, next(self._versions)))

    def merge(self) -> None:
        """Merge all modules and compare each result with what was there before."""
        _merge(self._pairs)


def _merge(pairs: list[tuple[bytes, bytes]]) -> None:
    for number, (upstream, overlay) in enumerate(pairs):
        path = f"pkg/module_{number}.py"
        operations = read_operations(f"demo@0000000/tree/{path}", overlay, layer="demo@0000000", target=path)
        merged, _ = merge(path, upstream, operations, distribution="demo-npu")
        if compare_file(path, upstream, merged) is None:
            raise AssertionError(f"{path}: nothing was merged")


def _pair(operations: int, version: str) -> tuple[bytes, bytes]:
    upstream = "\n\n".join(_function(number, version) for number in range(operations * _FUNCTIONS_PER_OPERATION))
    overlay = "\n\n".join(_overlay(operations, version))
    return f'"""Upstream {version}."""\n\n{upstream}'.encode(), f'"""Overlay {version}."""\n\n{overlay}'.encode()


def _function(number: int, version: str) -> str:
    return (
        f"def function_{number}(first, second=None):\n"
        f'    """Return the {number}th sum."""\n'
        f"    values = [first, second or {number}, {version}]\n"
        f"    return sum(value * {number} for value in values if value is not None)\n"
    )


def _overlay(operations: int, version: str) -> Iterator[str]:
    yield "from npu_overlays.markers import edited, replaced, upstream, wrapped\n"
    # One of each kind in turn; every second function of upstream's stays as it is.
    for number in range(operations):
        name = f"function_{number * _FUNCTIONS_PER_OPERATION}"
        kind = ("replaced", "wrapped", "edited")[number % 3]
        if kind == "edited":
            find = f"second or {number * _FUNCTIONS_PER_OPERATION}"
            yield f'@edited(("{find}", "{find} + {version}"), why="bench")\ndef {name}(): ...\n'
        else:
            body = f"[first, {version}]" if kind == "replaced" else f"[upstream(first, second), {version}]"
            yield f'@{kind}(why="bench")\ndef {name}(first, second=None):\n    return {body}\n'
