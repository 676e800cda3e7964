"""Exports: module → the names that other modules can import from it."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npu_overlays.model.definitions import FUNCTIONS, blocks, is_typing_only
from npu_overlays.model.functions import own_nodes
from npu_overlays.model.lazy_packages import Lazy, lazy_of, looks_lazy
from npu_overlays.model.scopes import Binding, Scopes
from npu_overlays.model.syntax import elements, is_name, nodes_of, targets

# What can give a module names that its text does not bind, or put another module in its place.
# Each pattern begins with a plain word, and looks back behind it: so it is found in half the time of `\b` or `|`.
_DYNAMIC = tuple(
    re.compile(rb"%s(?<!\w%s)%s" % (word, word, rest))
    for word, rest in (
        (b"globals", rb"\s*\("),
        (b"vars", rb"\s*\(\s*\)"),
        (b"locals", rb"\s*\(\s*\)"),
        (b"exec", rb"\s*\("),
        (b"sys", rb"\s*\.\s*modules\b"),
        (b"__getattr__", rb"\b"),
    )
)
# A line may continue after a backslash.
_STAR = re.compile(rb"import[ \t\f\r\n\\]*\*")


@dataclass(frozen=True, kw_only=True)
class Surface:
    """The exports of a module."""

    bound: frozenset[str] = frozenset()  # by running it, in any branch, or by ``global`` in one of its functions
    typing_only: frozenset[str] = frozenset()  # under ``if TYPE_CHECKING:`` and nowhere else
    stars: tuple[tuple[int, str], ...] = ()  # what it imports with ``*``, as (level, module)
    listed: Mapping[str, ast.expr] | None = None  # `__all__`, each name with its node; None where there is no such list
    dynamic: bool = False  # it may have other names at run time: nothing certain can be said of what it lacks
    lazy: Lazy | None = None  # where it puts another module in its own place: the names of that one

    @property
    def starred(self) -> frozenset[str]:
        """The names that ``import *`` brings: those of ``__all__``, or all public ones."""
        if self.listed is not None:
            return frozenset(self.listed)
        return frozenset(name for name in self.bound if not name.startswith("_") and "." not in name)


def surface_of(tree: ast.Module, scopes: Scopes, content: bytes) -> Surface:
    """Return a module's exports, given its tree, its scopes and its bytes."""
    running: set[str] = set()
    typing: set[str] = set()
    for name, bindings in scopes.module.bindings.items():
        if _stays(bindings):
            running.add(name)
        elif any(one.typing_only for one in bindings):
            typing.add(name)
    listed, literal = _entries_of_all(tree.body) if "__all__" in running else (None, True)
    return Surface(
        bound=frozenset(running),
        typing_only=frozenset(typing),
        stars=scopes.star_sources(typing_only=False),
        listed=listed,
        dynamic=not literal or looks_dynamic(content),
        lazy=lazy_of(tree, scopes, content) if looks_lazy(content) else None,
    )


def may_import_all(content: bytes) -> bool:
    """Return whether a module may have a star import, by its text alone; False is certain."""
    return _STAR.search(content) is not None


def looks_dynamic(content: bytes) -> bool:
    """Return whether a module may have names that it does not bind, by its text alone."""
    return any(pattern.search(content) for pattern in _DYNAMIC)


def typing_block(node: ast.If) -> list[ast.stmt]:
    """Return the statements below an ``if`` that only type checkers see."""
    negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    if is_typing_only(node):
        return node.body
    if negated and is_typing_only(ast.If(test=node.test.operand)):  # type: ignore[attr-defined,call-arg]  # a UnaryOp
        return node.orelse
    return []


def typing_only(body: Sequence[ast.stmt], *, inside: bool = False) -> Iterator[ast.stmt]:
    """Yield those of some statements, nested ones included, that only type checkers see."""
    for node in body:
        if inside:
            yield node
        hidden = typing_block(node) if isinstance(node, ast.If) else []
        for _, block in blocks(node):
            yield from typing_only(block, inside=inside or block == hidden)
        if isinstance(node, ast.ClassDef):
            yield from typing_only(node.body, inside=inside)


def local_annotations(nodes: Sequence[ast.AST]) -> Iterator[ast.AnnAssign]:
    """Yield the annotations of local variables among a module's nodes; a class in a function has none.

    Python never evaluates it.
    """
    lines = sorted(node.lineno for node in nodes if isinstance(node, ast.AnnAssign))
    for function in nodes:
        if not isinstance(function, FUNCTIONS):
            continue
        if bisect_left(lines, function.lineno) == bisect_right(lines, function.end_lineno or 0):
            continue  # most have none, and walking all of them is slow
        for node in own_nodes(function):
            if isinstance(node, ast.AnnAssign):
                yield node


def unevaluated(nodes: Sequence[ast.AST]) -> set[ast.AST]:
    """Return the nodes of a module that only type checkers evaluate.

    These are ``if TYPE_CHECKING:`` blocks anywhere and annotations of local variables; with the ``__future__`` import,
    all annotations.
    """
    kept: set[ast.AST] = set()
    for branch in nodes:
        if isinstance(branch, ast.If):
            for statement in typing_block(branch):
                kept.update(nodes_of(statement))
    for node in _annotated(nodes):
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                kept.update(nodes_of(annotation))
    return kept


def _annotated(nodes: Sequence[ast.AST]) -> Sequence[ast.AST]:
    """Return the nodes whose annotations Python does not evaluate."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                if alias.name == "annotations":
                    return nodes
    return list(local_annotations(nodes))


def _stays(bindings: list[Binding]) -> bool:
    """Return whether a name is still bound after the module has run."""
    gone = max((one.line for one in bindings if one.how == "del" and one.direct), default=0)
    for one in bindings:
        if not one.typing_only and one.how not in ("except", "del") and (one.line > gone or one.how == "global"):
            return True
    return False


def _entries_of_all(body: list[ast.stmt]) -> tuple[dict[str, ast.expr], bool]:
    """Return the literal names of ``__all__`` with their nodes, and whether the list is complete."""
    names: dict[str, ast.expr] = {}
    literal = True
    for node in body:
        for value in _values_for_all(node):
            for part in elements(value):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    names[part.value] = part
                else:
                    literal = False
        for _, block in blocks(node):
            inner, all_literal = _entries_of_all(block)
            names |= inner
            literal = literal and all_literal
    return names, literal


def _values_for_all(node: ast.stmt) -> Sequence[ast.expr]:
    """Return what a statement gives to ``__all__``."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return node.value.args if isinstance(function, ast.Attribute) and is_name(function.value, "__all__") else []
    value: ast.expr | None = getattr(node, "value", None)
    return [value] if value and any(is_name(target, "__all__") for target in targets(node)) else []
