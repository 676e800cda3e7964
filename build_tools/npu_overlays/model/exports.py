"""Surfaces: module → the names it offers to those who import it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npu_overlays.model.definitions import FUNCTIONS, blocks, is_typing_only
from npu_overlays.model.functions import own_nodes
from npu_overlays.model.lazy_packages import Lazy, lazy_of
from npu_overlays.model.nodes import nodes_of
from npu_overlays.model.scopes import Binding, Scopes

# What can give a module names that its text does not bind, or put another module in its place.
_DYNAMIC = re.compile(rb"\bglobals\s*\(|\b(?:vars|locals)\s*\(\s*\)|\bexec\s*\(|\bsys\s*\.\s*modules\b|\b__getattr__\b")
# A line may go on behind a backslash.
_STAR = re.compile(rb"import[ \t\f\r\n\\]*\*")


@dataclass(frozen=True, kw_only=True)
class Surface:
    """What a module offers.

    Args:
        bound: names that running it binds, in whatever branch, or that a function of it binds by ``global``.
        typing_only: names it binds under ``if TYPE_CHECKING:`` and nowhere else.
        stars: what it imports with ``*``, as (level, module).
        listed: the names of ``__all__``, each with the node that says so; None where there is no such list.
        dynamic: whether it may have other names at run time: nothing certain can be said of what it lacks.
        lazy: where it puts another module in its own place, what it says of that one's names.
    """

    bound: frozenset[str] = frozenset()
    typing_only: frozenset[str] = frozenset()
    stars: tuple[tuple[int, str], ...] = ()
    listed: Mapping[str, ast.expr] | None = None
    dynamic: bool = False
    lazy: Lazy | None = None

    @property
    def starred(self) -> frozenset[str]:
        """The names that ``import *`` brings: those of ``__all__``, or all that are not private."""
        public = (name for name in self.bound if not name.startswith("_") and "." not in name)
        return frozenset(public if self.listed is None else self.listed)


def surface_of(tree: ast.Module, scopes: Scopes, content: bytes) -> Surface:
    """Return what a module offers, given its tree, its scopes and its bytes."""
    running = {name for name, bindings in scopes.module.bindings.items() if _stays(bindings)}
    typing = {name for name, bindings in scopes.module.bindings.items() if any(one.typing_only for one in bindings)}
    stars = [star.node for star in scopes.stars if not star.typing_only]
    listed, literal = _entries_of_all(tree) if "__all__" in running else (None, True)
    return Surface(
        bound=frozenset(running),
        typing_only=frozenset(typing - running),
        stars=tuple((node.level, node.module or "") for node in stars if isinstance(node, ast.ImportFrom)),
        listed=listed,
        dynamic=not literal or looks_dynamic(content),
        lazy=lazy_of(tree, scopes, content),
    )


def may_import_all(content: bytes) -> bool:
    """Return whether a module's text looks as if it had a star import; what has one always does."""
    return _STAR.search(content) is not None


def looks_dynamic(content: bytes) -> bool:
    """Return whether a module's text looks as if it could have names that it does not bind."""
    return _DYNAMIC.search(content) is not None


def typing_blocks(node: ast.If) -> Iterator[list[ast.stmt]]:
    """Yield the statements below an ``if`` that only type checkers see."""
    negated = isinstance(node.test, ast.UnaryOp) and isinstance(node.test.op, ast.Not)
    if is_typing_only(node):
        yield node.body
    elif negated and is_typing_only(ast.If(test=node.test.operand)):  # type: ignore[attr-defined,call-arg]  # a UnaryOp
        yield node.orelse


def typing_only(body: list[ast.stmt], *, inside: bool = False) -> Iterator[ast.stmt]:
    """Yield the statements, of some and of those in their branches and classes, that only type checkers see."""
    for node in body:
        if inside:
            yield node
        hidden = list(typing_blocks(node)) if isinstance(node, ast.If) else []
        inner = [(block, inside or block in hidden) for _, block in blocks(node)]
        inner += [(node.body, inside)] if isinstance(node, ast.ClassDef) else []
        for block, never in inner:
            yield from typing_only(block, inside=never)


def local_annotations(tree: ast.Module) -> Iterator[ast.AnnAssign]:
    """Yield what annotates local variables, which Python never evaluates; a class in a function has none."""
    for function in nodes_of(tree):
        if isinstance(function, FUNCTIONS):
            yield from (node for node in own_nodes(function) if isinstance(node, ast.AnnAssign))


def unevaluated(tree: ast.Module) -> set[ast.AST]:
    """Return every node that only type checkers evaluate.

    They see ``if TYPE_CHECKING:`` wherever it stands, and the annotations of local variables, or with the
    ``__future__`` import all of them.
    """
    futures = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    nodes = nodes_of(tree)
    if any(alias.name == "annotations" for node in futures for alias in node.names):
        annotated = nodes
    else:
        annotated = list(local_annotations(tree))
    blocks_of_types = (typing_blocks(node) for node in nodes if isinstance(node, ast.If))
    kept = {inner for found in blocks_of_types for block in found for one in block for inner in nodes_of(one)}
    for node in annotated:
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(annotation, ast.AST):
                kept.update(nodes_of(annotation))
    return kept


def _stays(bindings: list[Binding]) -> bool:
    """Return whether a name is bound when the module has run."""
    binding = [one for one in bindings if not one.typing_only and one.how not in ("except", "del")]
    gone = max((one.line for one in bindings if one.how == "del" and one.direct), default=0)
    return any(one.line > gone or one.how == "global" for one in binding)


def _entries_of_all(tree: ast.Module) -> tuple[dict[str, ast.expr], bool]:
    """Return the literal names of ``__all__`` with their nodes, and whether it has no others."""
    names: dict[str, ast.expr] = {}
    literal = True
    for node in _statements(tree.body):
        for value in _values_for_all(node):
            parts = value.elts if isinstance(value, (ast.List, ast.Tuple, ast.Set)) else [value]
            texts = [part for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            literal = literal and len(texts) == len(parts)
            names |= {str(text.value): text for text in texts}
    return names, literal


def _values_for_all(node: ast.stmt) -> Iterator[ast.expr]:
    """Yield what a statement gives to ``__all__``."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value and any(_is_all(target) for target in targets):
            yield node.value
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        called = node.value.func
        if isinstance(called, ast.Attribute) and _is_all(called.value):
            yield from node.value.args


def _is_all(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        yield node
        for _, block in blocks(node):
            yield from _statements(block)
