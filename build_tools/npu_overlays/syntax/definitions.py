"""Definitions: syntax tree → the statements in module and class bodies that bind names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

SymbolKind = Literal["function", "class", "attribute", "import"]
FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """One statement that binds a name in a module or class body.

    Args:
        name: qualified name, ``Class.method``.
        kind: what the statement is.
        node: the statement.
        parent: qualified name of the class around it, empty at module level.
        branch: the branches of ``if``, ``try``, … around it in that scope, outermost first: ``("If.orelse",)``.
    """

    name: str
    kind: SymbolKind
    node: ast.stmt
    parent: str
    branch: tuple[str, ...] = ()

    @property
    def first_line(self) -> int:
        """The 1-based line on which the statement starts, its decorators included."""
        return first_line(self.node)


def first_line(node: ast.stmt) -> int:
    """Return the 1-based line on which a statement starts, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def definitions_of(tree: ast.Module) -> Iterator[Definition]:
    """Yield every definition of a module, those in classes and in branches included, in order."""
    return _walk(tree.body, "", ())


def _walk(body: Sequence[ast.stmt], parent: str, branch: tuple[str, ...]) -> Iterator[Definition]:
    for node in body:
        for kind, name in _bindings(node):
            full = f"{parent}.{name}" if parent else name
            yield Definition(name=full, kind=kind, node=node, parent=parent, branch=branch)
        if isinstance(node, ast.ClassDef):
            yield from _walk(node.body, f"{parent}.{node.name}" if parent else node.name, ())
        for field, block in blocks(node):
            yield from _walk(block, parent, (*branch, f"{type(node).__name__}.{field}"))


def blocks(node: ast.stmt) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Yield, by field, the statement lists inside `node` that bind names in the scope `node` itself is in."""
    if isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While)) or type(node).__name__ == "TryStar":
        for field in ("body", "orelse", "finalbody"):
            yield field, getattr(node, field, [])
        for handler in getattr(node, "handlers", []):
            yield "handlers", handler.body
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield "cases", case.body


def _bindings(node: ast.stmt) -> Iterator[tuple[SymbolKind, str]]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield "function", node.name
    elif isinstance(node, ast.ClassDef):
        yield "class", node.name
    elif isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__"):
        yield from (("import", bound_name(node, alias)) for alias in node.names)
    else:
        yield from (("attribute", name) for name in stored_names(node))


def stored_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names an assignment binds, ``Class.method`` for a monkey patch; none for any other statement."""
    if type(node).__name__ == "TypeAlias":  # Python 3.12 knows it
        yield node.name.id  # type: ignore[attr-defined]  # likewise
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for part in ast.walk(target):
                if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                    yield from dotted_names(part)


def dotted_names(node: ast.expr) -> Iterator[str]:
    """Yield the name a target is written as, where it is a name or attributes of one."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield from (f"{owner}.{node.attr}" for owner in dotted_names(node.value))


def is_typing_only(node: ast.If) -> bool:
    """Return whether the body of an ``if`` is for type checkers and never runs."""
    test = node.test
    return (test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")) == "TYPE_CHECKING"


def bound_name(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """Return the name an import binds: ``import a.b`` binds ``a``."""
    return alias.asname or (alias.name.partition(".")[0] if isinstance(node, ast.Import) else alias.name)
