"""Wrappers: a wrapper beside what it wraps, and where it mentions the original."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from npu_overlays.model.class_graph import ClassGraph
from npu_overlays.model.definitions import FunctionNode
from npu_overlays.model.module import Module


@dataclass(frozen=True, kw_only=True)
class Wrapper:
    """A wrapper beside what it wraps."""

    name: str  # by which it refers to the original
    module: Module  # the wrapper's text
    node: FunctionNode  # the wrapper
    original: FunctionNode  # what it wraps
    owner: str  # qualified name of the class around both, empty at module level
    entered: str  # what of ``contextlib`` makes a context manager of both, if anything; see `entered`

    def references(self) -> list[ast.Name]:
        """Return every mention of the original."""
        return [one for one in ast.walk(self.node) if isinstance(one, ast.Name) and one.id == self.name]

    def calls(self) -> Iterator[tuple[ast.Call, ast.AST]]:
        """Yield every direct call of the original, and what it stands in."""
        for outer in ast.walk(self.node):
            for inner in ast.iter_child_nodes(outer):
                if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name) and inner.func.id == self.name:
                    yield inner, outer


def entered(classes: ClassGraph, path: str, function: FunctionNode) -> str:
    """Return which decorator of ``contextlib`` makes a function's context manager, or an empty text."""
    leaves: set[str] = set()
    for decorator in function.decorator_list:
        leaves |= {name.rpartition(".")[2] for name in classes.names(path, decorator)}
    return next(iter(sorted(leaves & {"contextmanager", "asynccontextmanager"})), "")
